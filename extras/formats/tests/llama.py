"""What `./sample --export NAME.gguf` promises, held against llama.cpp itself.

    make && make wheel && pip install build/*.whl
    python3 extras/formats/tests/llama.py CHECKPOINT FILE

exports the checkpoint, a gpt or modern, in f32, f16 and q8_0, reads the files with the package gguf,
loads them with llama.cpp (package llama-cpp-python), and compares tokens, text, logits and, in f32,
greedy text with ./sample. FILE is a text of the checkpoint's vocabulary. Needs the packages
llama-cpp-python, gguf, numpy and tril; is no part of `make test`.
"""

import ctypes
import subprocess
import sys
import tempfile

import gguf
import llama_cpp
import numpy as np

import tril

# llama.cpp looks up GELU, which gpt2 has, in a table of 16-bit numbers, and rounds the inputs of
# products with a q8_0 matrix to 8 bits.
TOLERANCES = {"f32": 1e-4, "f16": 2e-2, "q8_0": 3e-1}
TABLE = 1e-3
GREEDY = 200


def ours(checkpoint, text):
    with tril.Model.load(checkpoint) as model:
        T = model.sizes.context
        return np.concatenate([model.read(text[i : i + T]).logits.copy() for i in range(0, len(text), T)])


def without_extra_buffers():
    """llama.cpp's own kernels for AMX crash on q8_0 (its issue 20824)."""
    params = default_params()
    params.use_extra_bufts = False
    return params


default_params = llama_cpp.llama_cpp.llama_model_default_params
llama_cpp.llama_cpp.llama_model_default_params = without_extra_buffers


def load(path, T):
    return llama_cpp.Llama(path, n_ctx=T, n_batch=T, logits_all=True, verbose=False,
                           type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32,
                           flash_attn=False)


def theirs(model, ids, T):
    """The logits after each token, in windows of the context laid end to end."""
    out = []
    for i in range(0, len(ids), T):
        model.reset()
        model.eval(ids[i : i + T])
        out.append(np.array(model.scores[: len(ids[i : i + T])]))
    return np.concatenate(out)


def greedy(model, ids, count):
    model.reset()
    model.eval(ids)
    said = []
    for _ in range(count):
        said.append(int(np.argmax(model.scores[model.n_tokens - 1])))
        model.eval(said[-1:])
    return said


def sizes_of(checkpoint):
    info = subprocess.run(["./sample", "--info", checkpoint], check=True, capture_output=True,
                          text=True).stdout
    return dict(line.split()[:2] for line in info.splitlines()[1:6])


def check_metadata(path, sizes):
    fields = gguf.GGUFReader(path).fields
    architecture = fields["general.architecture"].contents()
    for ours_, theirs_ in (("layers", "block_count"), ("heads", "attention.head_count"),
                           ("width", "embedding_length"), ("context", "context_length")):
        assert str(fields[f"{architecture}.{theirs_}"].contents()) == sizes[ours_], theirs_
    print(f"{architecture}: {len(fields)} fields, {sizes}")


def compare(kind, path, checkpoint, name, T):
    with open(name, "rb") as file:
        text = file.read()[:3000]
    text = text.decode(errors="ignore").encode()
    model = load(path, T)
    ids = model.tokenize(text, add_bos=False, special=False)
    assert model.detokenize(ids) == text, "the text comes back as another"
    vocabulary = model.n_vocab()
    assert len(ids) == (len(text) if vocabulary == 256 else len(text.decode()))
    end = llama_cpp.llama_vocab_is_eog
    vocab = llama_cpp.llama_model_get_vocab(model._model.model)
    assert not any(end(vocab, i) for i in range(vocabulary)), "a character ends the text"
    a = ours(checkpoint, text if vocabulary == 256 else text.decode())
    b = theirs(model, ids, T)
    worst = float(np.abs(a - b).max())
    print(f"{kind}: {len(ids)} tokens, {vocabulary} distinct: logits differ by {worst:.1e} at most")
    table = TABLE if "gpt2" in model.metadata["general.architecture"] else 0
    assert worst < TOLERANCES[kind] + table, worst
    if kind == "f32":
        prompt = text.decode()[: T // 4]
        more = min(GREEDY, T - len(prompt))
        said = model.detokenize(greedy(model, model.tokenize(prompt.encode(), add_bos=False), more))
        we = subprocess.run(["./sample", "-t", "0", "--precision", "f32", "-n", str(more), "-p",
                             prompt, checkpoint], check=True, capture_output=True).stdout
        assert we.rstrip(b"\n") == (prompt.encode() + said).rstrip(b"\n"), (we, said)
        print(f"{kind}: the same {more} characters, always the likeliest")


def main():
    checkpoint, name = sys.argv[1:]
    sizes = sizes_of(checkpoint)
    with tempfile.TemporaryDirectory() as there:
        for kind in TOLERANCES:
            path = f"{there}/{kind}.gguf"
            subprocess.run(["./sample", "--export", path, "--precision", kind, checkpoint],
                           check=True)
            if kind == "f32":
                check_metadata(path, sizes)
            compare(kind, path, checkpoint, name, int(sizes["context"]))


main()
