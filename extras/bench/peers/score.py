"""The loss of a gpt, modern or conv checkpoint on a text, computed apart from tril, in float64: a conv with
PyTorch, the others by Hugging Face transformers, to which ./sample exports them.

    make
    python3 extras/bench/peers/score.py out/model.safetensors FILE [--slide N]

prints what `./sample --score FILE out/model.safetensors` should print: the loss of windows of the
model's context that are laid end to end. With --slide N windows overlap, and only the last N
characters of each count (of the first window, all): most characters are then predicted from nearly a
whole context, and the loss is lower. Never compare one kind with the other. Needs the packages torch,
safetensors and, except for conv, transformers; is no part of `make test`.
"""

import argparse
import math
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from safetensors import safe_open


def load(path):
    with safe_open(path, "pt") as file:
        weights = {name: file.get_tensor(name).double() for name in file.keys()}
        return file.metadata(), weights


def exported(checkpoint):
    """A function from ids[B,T] to logits[B,T,V]."""
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["./sample", "--export", folder, checkpoint], check=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder).double().eval()
    return lambda ids: model(ids).logits


def conv(meta, weights):
    layers, heads = int(meta["layers"]), int(meta["heads"])
    kv_heads = int(meta.get("kv_heads", heads))
    return lambda ids: conv_logits(ids, weights, layers, heads, kv_heads)


def conv_logits(ids, w, layers, heads, kv_heads):
    """ids[B,T] -> logits[B,T,V]"""
    T = ids.shape[1]
    x = w["model.embed_tokens.weight"][ids]

    def norm(x, name):
        return F.rms_norm(x, x.shape[-1:], w[name + ".weight"], eps=1e-6)

    def convolution(x, name):
        taps = w[name + ".weight"]
        y = x.clone()
        for back in range(min(len(taps), T)):
            y[:, back:] += taps[back] * x[:, : T - back]
        return y

    def linear(x, name):
        return x @ w[name + ".weight"].T

    def split(x, heads):
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def rotary(x):
        half = x.shape[-1] // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
        angles = torch.outer(torch.arange(T, dtype=x.dtype), rates)
        a, b = x[..., :half], x[..., half:]
        return torch.cat(
            (a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1
        )

    for layer in range(layers):
        h = f"model.layers.{layer}."
        y = convolution(norm(x, h + "input_layernorm"), h + "input_conv")
        q = rotary(norm(split(linear(y, h + "self_attn.q_proj"), heads), h + "self_attn.q_norm"))
        k = rotary(norm(split(linear(y, h + "self_attn.k_proj"), kv_heads), h + "self_attn.k_norm"))
        v = split(linear(y, h + "self_attn.v_proj"), kv_heads)
        shared = heads // kv_heads
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        x = x + linear(att, h + "self_attn.o_proj")
        y = convolution(norm(x, h + "post_attention_layernorm"), h + "post_attention_conv")
        y = F.silu(linear(y, h + "mlp.gate_proj")) * linear(y, h + "mlp.up_proj")
        x = x + linear(y, h + "mlp.down_proj")
    return norm(x, "model.norm") @ w["model.embed_tokens.weight"].T


def windows(count, T, stride):
    """Windows that predict `count` characters: where each begins and ends, and the first prediction
    in it that counts."""
    end = 0
    while end < count:
        counts, end = end, min(end + (stride if end else T), count)
        yield counts if stride == T else max(0, end - T), end, counts


def score(logits_of, ids, T, stride):
    """Nats per character."""
    at_once, total, batches = 64, 0.0, {}

    def add(batch):
        nonlocal total
        inputs = torch.stack([ids[begin:end] for begin, end, _ in batch])
        targets = torch.stack([ids[begin + 1 : end + 1] for begin, end, _ in batch])
        losses = F.cross_entropy(logits_of(inputs).transpose(1, 2), targets, reduction="none")
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
    meta, weights = load(options.checkpoint)
    if meta["model"] not in ("gpt", "modern", "conv"):
        sys.exit(f"{options.checkpoint} is a {meta['model']}, not a gpt, modern or conv")
    T = int(meta["context"])
    if options.slide is not None and not 0 < options.slide < T:
        sys.exit(f"--slide takes 1 to {T - 1}, less than the model's context")
    logits_of = conv(meta, weights) if meta["model"] == "conv" else exported(options.checkpoint)
    if meta["characters"] == "utf-8":
        place = {character: i for i, character in enumerate(meta["vocabulary"])}
        with open(options.text, encoding="utf-8", newline="") as file:
            ids = torch.tensor([place[character] for character in file.read()])
    else:
        with open(options.text, "rb") as file:
            ids = torch.tensor(list(file.read()))
    with torch.no_grad():
        nats = score(logits_of, ids, T, options.slide or T)
    print(f"characters {len(ids)}\nnats_per_char {nats:.6f}\nbits_per_char {nats / math.log(2):.6f}")
    print(f"perplexity {math.exp(nats):.4f}")


if __name__ == "__main__":
    main()
