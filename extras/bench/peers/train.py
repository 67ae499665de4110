"""tril and PyTorch train the same GPTs, in turn, on the same processor.

    make && make wheel && pip install build/*.whl
    python3 extras/bench/peers/train.py FILE [--rounds N] [--seconds S] [--precisions f32,bf16] [--compiled]

Both start from the same weights, tril's, and see the same batches, drawn again here from its seed,
so that their losses agree step by step; what is compared is tokens per second, round by round
(A B A B). PyTorch runs eager or, with --compiled, compiled; its bfloat16 is that of autocast. Needs
the packages torch, numpy and tril, and --compiled a C++ compiler; is no part of `make test`.
"""

import argparse
import csv
import math
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import tril

SEED = 1337
BATCHES = 2  # the purpose of a random stream, as in base/random.h
RATE, WARMUP, LEAST_WARMUP = 1e-3, 100, 30
SMALL = {"layers": 4, "heads": 4, "width": 128, "context": 64, "batch": 12}
LARGE = {"layers": 6, "heads": 6, "width": 384, "context": 256, "batch": 16}


# ---- tril's random numbers (base/random.c): SplitMix64's finaliser over a counter ----


def mix(z):
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def bits(key, index):
    with np.errstate(over="ignore"):
        index = np.asarray(index, np.uint64)
        return mix(key + (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def uniform(key, index):
    return (bits(key, index) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permuted(key, index, count):
    half = 1
    while count > 1 << 2 * half:
        half += 1
    mask = np.uint64((1 << half) - 1)
    while True:
        left, right = np.uint64(index) >> np.uint64(half), np.uint64(index) & mask
        for turn in range(4):
            left, right = right, left ^ (bits(bits(key, turn), right) & mask)
        index = int(left << np.uint64(half) | right)
        if index < count:
            return index


def start_of(number, length, T):
    """Where window `number` of the training text begins (data/corpus.c)."""
    windows = max(1, (length - T) // T)
    key = bits(bits(mix(np.uint64(SEED)), BATCHES), number // windows)
    offset = int(uniform(key, 0) * (length - T - (windows - 1) * T))
    return permuted(key, number % windows, windows) * T + offset


# ---- the same model ----


class Block(nn.Module):
    def __init__(self, C, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(C, 3 * C), "c_proj": nn.Linear(C, C)})
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(C, 4 * C), "c_proj": nn.Linear(4 * C, C)})

    def forward(self, x):
        qkv = self.attn["c_attn"](self.ln_1(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        x = x + self.attn["c_proj"](att)
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Begins with the weights of tril, whose names the modules have."""

    def __init__(self, tokenizer, s):
        super().__init__()
        C = s["width"]
        self.wte, self.wpe = nn.Embedding(len(tokenizer), C), nn.Embedding(s["context"], C)
        self.h = nn.ModuleList(Block(C, s["heads"]) for _ in range(s["layers"]))
        self.ln_f = nn.LayerNorm(C)
        with tril.Model(tokenizer, "gpt", seed=SEED, **{name: s[name] for name in s if name != "batch"}) as start:
            self.load_state_dict({name.removeprefix("transformer."): torch.from_numpy(w) for name, w in start.weights.items()})

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def rate_of(step, steps):
    """A warm-up, then a cosine, as in library/recipe.c"""
    warmup = int(min(WARMUP, max(0.1 * steps, min(LEAST_WARMUP, 0.3 * steps))))
    if step < warmup:
        return RATE * (step + 1) / (warmup + 1)
    progress = (step - warmup) / (steps - warmup)
    return RATE / 10 + 0.5 * (1 + math.cos(math.pi * progress)) * RATE * 0.9


class Torch:
    """One way of running PyTorch: trains `steps` steps, returns tokens per second and losses."""

    def __init__(self, ids, tokenizer, sizes, bf16, compiled):
        self.ids, self.sizes, self.bf16 = ids, sizes, bf16
        model = GPT(tokenizer, sizes)
        self.model = torch.compile(model) if compiled else model
        decay = [p for p in model.parameters() if p.dim() == 2]
        rest = [p for p in model.parameters() if p.dim() != 2]
        groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99), eps=1e-8, fused=True)

    def batch(self, step):
        B, T = self.sizes["batch"], self.sizes["context"]
        starts = [start_of(step * B + b, len(self.ids), T) for b in range(B)]
        text = torch.from_numpy(np.stack([self.ids[s : s + T + 1] for s in starts]))
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def step(self, step, steps):
        for group in self.optimizer.param_groups:
            group["lr"] = rate_of(step, steps)
        inputs, targets = self.batch(step)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            loss = self.model(inputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()

    def run(self, first, count, steps):
        started = time.perf_counter()
        losses = [self.step(first + i, steps) for i in range(count)]
        tokens = count * self.sizes["batch"] * self.sizes["context"]
        return tokens / (time.perf_counter() - started), losses


def ours(text, sizes, steps, precision, threads):
    """Tokens per second and losses of as many steps of ./train."""
    with tempfile.TemporaryDirectory() as out:
        flags = [f"--{name}={value}" for name, value in sizes.items()]
        flags += [f"--steps={steps}", f"--eval-every={steps}", f"--seed={SEED}", f"--lr={RATE}"]
        flags += [f"--threads={threads}", f"--precision={precision}", "--val=0.1", "--quiet"]
        flags += ["--model=gpt"]
        subprocess.run(["./train", *flags, "--out", f"{out}/run", text], check=True, capture_output=True)
        with open(f"{out}/run/model.csv") as file:
            rows = list(csv.DictReader(file))
    return float(rows[-1]["tokens_per_second"]), [float(row["train_loss"]) for row in rows]


# ---- in turn ----


def compare(text, ids, tokenizer, sizes, options):
    print("\n" + ", ".join(f"{name} {value}" for name, value in sizes.items()), flush=True)
    precisions = options.precisions.split(",")
    rate, _ = ours(text, sizes, 10, precisions[0], options.threads)
    steps = max(10, int(options.seconds * rate / (sizes["batch"] * sizes["context"])))
    share = max(3, steps // 4)
    peers, speeds, losses = {}, {}, {}
    for precision in precisions:
        how = ids, tokenizer, sizes, precision == "bf16", options.compiled
        Torch(*how).run(0, 3, steps)  # compiles, and warms up
        peers[precision] = Torch(*how)
    for turn in range(options.rounds):
        for precision in precisions:
            speed, losses["tril", precision] = ours(text, sizes, steps, precision, options.threads)
            speeds.setdefault(("tril", precision), []).append(speed)
            speed, loss = peers[precision].run(turn * share, share, steps)
            speeds.setdefault(("PyTorch", precision), []).append(speed)
            losses.setdefault(("PyTorch", precision), []).extend(loss)
    for precision in precisions:
        own, theirs = (statistics.median(speeds[name, precision]) for name in ("tril", "PyTorch"))
        apart = max(abs(a - b) for a, b in zip(losses["tril", precision], losses["PyTorch", precision]))
        print(f"  {precision}: tril {own:9,.0f} tokens/s, PyTorch {theirs:9,.0f}, ratio {own / theirs:.2f}, "
              f"losses apart by {apart:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--precisions", default="f32", help="f32, bf16, or f32,bf16")
    parser.add_argument("--compiled", action="store_true", help="PyTorch compiles its model")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with open(options.file, encoding="utf-8", newline="") as file:
        characters = file.read()
    tokenizer = tril.Tokenizer(characters)
    ids = tokenizer.encode(characters[:int(len(characters) * (1 - 0.1))]).astype(np.int64)
    print(f"PyTorch {torch.__version__}, {options.threads} threads")
    for sizes in (SMALL, LARGE):
        compare(options.file, ids, tokenizer, sizes, options)


if __name__ == "__main__":
    main()
