"""The loss of a gpt, modern, conv or ngram checkpoint on a text, computed apart from tril, in float64: a conv
and an ngram with numpy, the others by Hugging Face transformers, to which tril exports them.

    make
    python3 extras/bench/peers/score.py out/model.safetensors FILE [--slide N]

prints what `./sample --score FILE out/model.safetensors` should print: the loss of windows of the
model's context that are laid end to end. With --slide N windows overlap, and only the last N
characters of each count (of the first window, all): most characters are then predicted from nearly a
whole context, and the loss is lower. Never compare one kind with the other. Needs the packages numpy,
safetensors and, for gpt and modern, torch, transformers, tril and what it exports with; is no part of
`make test`. The counts of an ngram take minutes.
"""

import argparse
import math
import re
import subprocess
import sys
import tempfile

import numpy as np
from ngram import KneserNey
from safetensors import safe_open


def load(path):
    with safe_open(path, "np") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}


def exported(checkpoint):
    """A function from ids[B,T] to logits[B,T,V]."""
    import torch
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "tril", "export", checkpoint, folder], check=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder).double().eval()

    def logits(ids):
        with torch.no_grad():
            return model(torch.tensor(ids)).logits.numpy()

    return logits


def counting(checkpoint, text, vocabulary):
    """A function from ids[B,T] to the probabilities [B,T,V] of counting, after the tokens of a row."""
    info = subprocess.run(["./sample", "--info", checkpoint], check=True, capture_output=True, text=True)
    order = int(re.search(r"up to (\d+) at a time", info.stdout)[1])
    model = KneserNey(text, order, vocabulary)

    def after(known):
        return [model.probability(known, v) for v in range(vocabulary)]

    return lambda ids: np.array([[after(row[max(0, t + 2 - order) : t + 1]) for t in range(len(row))]
                                 for row in ids.tolist()])


def own(checkpoint, meta, tensors):
    """The same for conv and ngram as exported has for the others."""
    layers, heads = int(meta["layers"]), int(meta["heads"])
    kv_heads = int(meta.get("kv_heads", heads))
    w = {name: array.astype(float) for name, array in tensors.items() if name.startswith("model.")}
    embed = w["model.embed_tokens.weight"]
    if meta["model"] == "conv":
        return lambda ids: hidden(embed[ids], w, layers, heads, kv_heads) @ embed.T
    counted = counting(checkpoint, tensors["ngram.text"].tolist(), len(embed))

    def logits(ids):
        p = counted(ids)
        x = embed[ids] + np.sqrt(p) @ w["model.ngram_proj.weight"].T
        h = hidden(x, w, layers, heads, kv_heads)
        trust = 1 + h @ w["model.ngram_gate.weight"].T + w["model.ngram_gate.bias"]
        return h @ embed.T + trust * np.log(p)

    return logits


def hidden(x, w, layers, heads, kv_heads):
    """x[B,T,C], the embedding -> [B,T,C], what the output layer reads."""
    T = x.shape[1]

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w[name + ".weight"]

    def convolution(x, name):
        taps = w[name + ".weight"]
        y = x.copy()
        for back in range(min(len(taps), T)):
            y[:, back:] += taps[back] * x[:, : T - back]
        return y

    def linear(x, name):
        return x @ w[name + ".weight"].T

    def split(x, heads):
        return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

    def rotary(x):
        half = x.shape[-1] // 2
        angles = np.outer(np.arange(T), 10000.0 ** (-np.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        return np.concatenate((a * np.cos(angles) - b * np.sin(angles),
                               b * np.cos(angles) + a * np.sin(angles)), -1)

    def attention(q, k, v):
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        scores[..., np.triu(np.ones((T, T), bool), 1)] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    for layer in range(layers):
        h = f"model.layers.{layer}."
        y = convolution(norm(x, h + "input_layernorm"), h + "input_conv")
        q = rotary(norm(split(linear(y, h + "self_attn.q_proj"), heads), h + "self_attn.q_norm"))
        k = rotary(norm(split(linear(y, h + "self_attn.k_proj"), kv_heads), h + "self_attn.k_norm"))
        v = split(linear(y, h + "self_attn.v_proj"), kv_heads)
        k, v = (each.repeat(heads // kv_heads, 1) for each in (k, v))
        out = attention(q, k, v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
        x = x + linear(out, h + "self_attn.o_proj")
        y = convolution(norm(x, h + "post_attention_layernorm"), h + "post_attention_conv")
        gate = linear(y, h + "mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(y, h + "mlp.up_proj"), h + "mlp.down_proj")
    return norm(x, "model.norm")


def windows(count, T, stride):
    """Windows that predict `count` characters: where each begins and ends, and the first prediction
    in it that counts."""
    end = 0
    while end < count:
        counts, end = end, min(end + (stride if end else T), count)
        yield counts if stride == T else max(0, end - T), end, counts


def score(logits_of, ids, T, stride):
    """Nats per character."""
    at_once, total, batches = 16, 0.0, {}

    def add(batch):
        nonlocal total
        logits = logits_of(np.stack([ids[begin:end] for begin, end, _ in batch]))
        targets = np.stack([ids[begin + 1 : end + 1] for begin, end, _ in batch])[..., None]
        logits = logits - logits.max(-1, keepdims=True)
        losses = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, targets, -1)[..., 0]
        for row, (begin, _, counts) in zip(losses, batch):
            total += row[counts - begin :].sum().item()
        batch.clear()

    for window in windows(len(ids) - 1, T, stride):
        batch = batches.setdefault(window[1] - window[0], [])
        batch.append(window)
        if len(batch) == at_once:
            add(batch)
    for batch in batches.values():
        if batch:
            add(batch)
    return total / (len(ids) - 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("text")
    parser.add_argument("--slide", type=int, metavar="N")
    options = parser.parse_args()
    meta, tensors = load(options.checkpoint)
    if meta["model"] not in ("gpt", "modern", "conv", "ngram"):
        sys.exit(f"{options.checkpoint} is a {meta['model']}, not a gpt, modern, conv or ngram")
    T = int(meta["context"])
    if options.slide is not None and not 0 < options.slide < T:
        sys.exit(f"--slide takes 1 to {T - 1}, less than the model's context")
    by_numpy = meta["model"] in ("conv", "ngram")
    logits_of = own(options.checkpoint, meta, tensors) if by_numpy else exported(options.checkpoint)
    if meta["characters"] == "utf-8":
        place = {character: i for i, character in enumerate(meta["vocabulary"])}
        with open(options.text, encoding="utf-8", newline="") as file:
            ids = np.array([place[character] for character in file.read()])
    else:
        with open(options.text, "rb") as file:
            ids = np.array(list(file.read()))
    nats = score(logits_of, ids, T, options.slide or T)
    print(f"characters {len(ids)}\nnats_per_char {nats:.6f}\nbits_per_char {nats / math.log(2):.6f}")
    print(f"perplexity {math.exp(nats):.4f}")


if __name__ == "__main__":
    main()
