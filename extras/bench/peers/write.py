"""tril, llama2.c and llama.cpp write text with models of equal size, in turn, one thread each.

    make && make wheel && pip install build/*.whl gguf numpy xllamacpp
    python3 extras/bench/peers/write.py RUN_C [--rounds N] [--characters N] [--march NAME]

RUN_C is run.c of a checkout of github.com/karpathy/llama2.c. It is built with `gcc -Ofast
-march=native`; to compare on AVX2 where there is more, give `--march x86-64-v3` and KERNELS=avx2
(llama.cpp, here from the package xllamacpp, takes the best that the processor has). Its own model file
gets random numbers, in the sizes of a `modern` of 4 layers, 4 heads, 128 channels, 65 characters
and a context of 256, which ./train makes here in one step; llama.cpp opens that model itself. In
llama2.c only the norms of queries and keys are missing. Each round runs all (A B A B), with top-p
0.9. What is compared is the time of a long text minus the time of a short one, so that loading
costs nothing: characters per second from the second to the last; llama.cpp says its own. llama2.c
ends a text at its token 1; its table of vectors makes that token unlikely. Needs gcc and `make`; is
no part of `make test`.
"""

import argparse
import array
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import xllamacpp

LAYERS, HEADS, C, V, T = 4, 4, 128, 65, 256
HIDDEN = (8 * C // 3 + 31) // 32 * 32  # of the MLP; checked against ./sample --info


def write_model(path):
    """llama2.c's format: seven sizes, then the weights; here with a tied output layer."""
    draw = random.Random(1337)

    def normal(count, deviation):
        return array.array("f", (draw.gauss(0, deviation) for _ in range(count)))

    def ones(count):
        return array.array("f", [1.0] * count)

    table = normal(V * C, 0.3)
    table[C : 2 * C] = array.array("f", [0.0] * C)  # token 1 ends a text: its logit is 0
    with open(path, "wb") as file:
        file.write(struct.pack("7i", C, HIDDEN, LAYERS, HEADS, HEADS, V, T))
        table.tofile(file)
        ones(LAYERS * C).tofile(file)
        for _ in "qkvo":
            normal(LAYERS * C * C, C**-0.5).tofile(file)
        ones(LAYERS * C).tofile(file)
        for inputs in (C, HIDDEN, C):
            normal(LAYERS * C * HIDDEN, inputs**-0.5).tofile(file)
        ones(C).tofile(file)
        ones(T * C // HEADS).tofile(file)  # tables that it no longer reads


def write_tokenizer(path):
    with open(path, "wb") as file:
        file.write(struct.pack("i", 1))
        for i in range(V):
            file.write(struct.pack("fi", 0.0, 1) + bytes([ord("0") + i]))


def write_tril(folder):
    """A checkpoint of the same sizes, of one step on a text of V distinct characters."""
    text = "".join(chr(ord("0") + i) for i in range(V)) * 100
    with open(f"{folder}/text", "w", encoding="utf-8") as file:
        file.write(text)
    sizes = [f"-l{LAYERS}", f"-H{HEADS}", f"-w{C}", f"-c{T}", "-b1", "-s1", "-j1"]
    subprocess.run(["./train", "-q", "-m", "modern", *sizes, "--out", f"{folder}/tril",
                    f"{folder}/text"], check=True, capture_output=True)
    info = subprocess.run(["./sample", "--info", f"{folder}/tril"], check=True,
                          capture_output=True, text=True).stdout
    assert f"mlp.gate_proj.weight {HIDDEN} x {C}" in " ".join(info.split()), info


def llama_cpp(folder, kind):
    """Its server, in this process, with tril's model."""
    path = f"{folder}/{kind}.gguf"
    subprocess.run([sys.executable, "-m", "tril", "export", f"{folder}/tril/model.safetensors", path, kind], check=True)
    how = xllamacpp.CommonParams()
    how.model.path, how.n_ctx, how.n_parallel, how.verbosity = path, T, 1, 0
    how.cpuparams.n_threads = how.cpuparams_batch.n_threads = 1
    how.no_extra_bufts = True  # its kernels for AMX crash on q8_0 (issue 20824 of llama.cpp)
    return xllamacpp.Server(how)


def seconds_of_server(server, count):
    asked = {"prompt": "0", "n_predict": count, "temperature": 1, "top_p": 0.9, "top_k": 0, "min_p": 0, "ignore_eos": True,
             "cache_prompt": False}
    said = server.handle_completions(asked)["timings"]
    assert said["predicted_n"] == count, said
    return said["predicted_ms"] / 1000 * (count - 1) / count


def seconds(command, count):
    """The time of one run, which must have written `count` characters."""
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)
    took = time.perf_counter() - start
    written = len(done.stdout.rstrip(b"\n"))
    assert written == count, f"{command[0]} wrote {written} characters, not {count}"
    return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run_c")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--characters", type=int, default=T - 1)
    parser.add_argument("--march", default="native")
    options = parser.parse_args()
    if not 1 < options.characters < T:
        parser.error(f"--characters is between 2 and {T - 1}")
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        program, model, tokenizer = (f"{folder}/{name}" for name in ("run", "model", "tokenizer"))
        subprocess.run(["gcc", "-Ofast", f"-march={options.march}", "-o", program, options.run_c, "-lm"],
                       check=True, env=env)
        write_model(model)
        write_tokenizer(tokenizer)
        write_tril(folder)
        ours = ["./sample", "-j1", "-t1", "-P0.9", f"{folder}/tril"]
        writers = {
            "llama2.c": lambda n: [program, model, "-z", tokenizer, "-n", str(n), "-s", "1337"],
            "tril f32": lambda n: [*ours, "--precision=f32", f"-n{n}"],
            "tril 8-bit weights": lambda n: [*ours, "--precision=int8", f"-n{n}"],
        }
        servers = {f"llama.cpp {kind}": llama_cpp(folder, kind) for kind in ("f32", "q8_0")}
        took = {name: [] for name in (*writers, *servers)}
        for _ in range(options.rounds):
            for name, command in writers.items():
                short = seconds(command(1), 1)
                took[name].append(seconds(command(options.characters), options.characters) - short)
            for name, server in servers.items():
                took[name].append(seconds_of_server(server, options.characters))
    theirs = took["llama2.c"]
    for name, values in took.items():
        speed = (options.characters - 1) / statistics.median(values)
        ratio = statistics.median(b / a for a, b in zip(values, theirs))
        print(f"{name:18} {speed:9,.0f} characters/s  / llama2.c {ratio:5.2f}")


if __name__ == "__main__":
    main()
