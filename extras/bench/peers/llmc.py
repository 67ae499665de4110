"""tril and llm.c train the same GPTs, in turn, on the same processor, in float32.

    make && make wheel && pip install build/*.whl
    python3 extras/bench/peers/llmc.py LLM_C FILE [--rounds N] [--steps N] [--march NAME]

LLM_C is a checkout of github.com/karpathy/llm.c. Its train_gpt2.c is built for the processor with
OpenMP, after its batch, window and number of steps are put into its source. It begins with tril's
weights, and its first loss is checked against tril's; then it takes its batches in another order.
To compare on AVX2 where there is more, give `--march x86-64-v3` and KERNELS=avx2. Needs the
packages of train.py and gcc; is no part of `make test`.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile

import numpy as np
import tril

from train import LARGE, SEED, SMALL, ours

BLOCK = ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
         "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias")
CHECKED = 5  # batches of the validation loss in train_gpt2.c


def write_model(path, weights, s, V):
    """Its format: a header, then each kind of tensor with all layers in one. V is already a multiple of 128."""
    header = np.zeros(256, np.int32)
    header[:8] = 20240326, 3, s["context"], V, s["layers"], s["heads"], s["width"], -(-V // 128) * 128
    table = np.zeros((header[7], s["width"]), np.float32)
    table[:V] = weights["transformer.wte.weight"]
    layers = [np.stack([weights[f"transformer.h.{l}.{name}"] for l in range(s["layers"])]) for name in BLOCK]
    ends = [weights[f"transformer.ln_f.{name}"] for name in ("weight", "bias")]
    with open(path, "wb") as file:
        for array in (header, table, weights["transformer.wpe.weight"], *layers, *ends):
            file.write(np.ascontiguousarray(array).tobytes())


def write_tokens(path, ids):
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, len(ids)
    with open(path, "wb") as file:
        file.write(header.tobytes() + ids.astype(np.uint16).tobytes())


def build(llm_c, folder, s, steps, march):
    with open(f"{llm_c}/train_gpt2.c", encoding="utf-8") as file:
        source = file.read()
    for old, new in (("int B = 4;", f"int B = {s['batch']};"), ("int T = 64;", f"int T = {s['context']};"),
                     ("step <= 40", f"step < {steps}"), ("step % 10 == 0", "step == 0"), ("step % 20 == 0", "0")):
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    with open(f"{folder}/main.c", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run(["gcc", "-Ofast", f"-march={march}", "-fopenmp", "-DOMP", "-w", f"-I{llm_c}", "-o", f"{folder}/main",
                    f"{folder}/main.c", "-lm"], check=True)


def theirs(folder, threads):
    """Tokens per second are of the median step: the first steps make memory."""
    env = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    said = subprocess.run(["./main"], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout
    took = [float(ms) / 1000 for ms in re.findall(r"took ([\d.]+) ms", said)]
    return statistics.median(took), float(re.search(r"val loss ([\d.]+)", said)[1])


def compare(text, characters, s, options):
    tokenizer = tril.Tokenizer(characters)
    tokens = s["batch"] * s["context"]
    checked = characters[:CHECKED * tokens + 1]
    with tril.Model(tokenizer, "gpt", seed=SEED, **{name: s[name] for name in s if name != "batch"}) as model, \
            tempfile.TemporaryDirectory() as folder:
        expected = model.score(checked, precision="f32").nats
        write_model(f"{folder}/gpt2_124M.bin", model.weights, s, len(tokenizer))
        data = f"{folder}/dev/data/tinyshakespeare"
        os.makedirs(data)
        write_tokens(f"{data}/tiny_shakespeare_train.bin", tokenizer.encode(characters))
        write_tokens(f"{data}/tiny_shakespeare_val.bin", tokenizer.encode(checked))
        build(options.llm_c, folder, s, options.steps, options.march)
        own, other = [], []
        for _ in range(options.rounds):
            own.append(ours(text, s, options.steps, "f32", options.threads)[0])
            took, loss = theirs(folder, options.threads)
            other.append(tokens / took)
    print(", ".join(f"{name} {value}" for name, value in s.items()))
    a, b = statistics.median(own), statistics.median(other)
    print(f"  tril {a:9,.0f} tokens/s, llm.c {b:9,.0f}, ratio {a / b:.2f}; first losses {expected:.5f}, {loss:.5f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("llm_c")
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--march", default="native")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8", newline="") as file:
        characters = file.read()
    for sizes in (SMALL, LARGE):
        compare(options.file, characters, sizes, options)


if __name__ == "__main__":
    main()
