"""The loss of a gpt or modern checkpoint on a text, computed apart from tril, in float64: a gpt with
PyTorch, a modern as the Qwen3ForCausalLM of Hugging Face transformers.

    python3 tests/peers/score.py out/model.safetensors FILE

prints what `./sample --score FILE out/model.safetensors` should print. Needs the packages torch,
safetensors and, for modern, transformers; is no part of `make test`.
"""

import math
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open


def load(path):
    with safe_open(path, "pt") as file:
        weights = {name: file.get_tensor(name).double() for name in file.keys()}
        return file.metadata(), weights


def modern(meta, weights):
    """A function from ids[B,T] to logits[B,T,V]."""
    import transformers

    width, heads = int(meta["width"]), int(meta["heads"])
    config = transformers.Qwen3Config(
        vocab_size=int(meta["vocabulary_size"]),
        hidden_size=width,
        intermediate_size=weights["model.layers.0.mlp.up_proj.weight"].shape[0],
        num_hidden_layers=int(meta["layers"]),
        num_attention_heads=heads,
        num_key_value_heads=int(meta.get("kv_heads", heads)),
        head_dim=width // heads,
        max_position_embeddings=int(meta["context"]),
        rms_norm_eps=1e-6,
        rope_theta=10000.0,
        tie_word_embeddings=True,
    )
    model = transformers.Qwen3ForCausalLM(config).double().eval()
    tied = {"lm_head.weight": weights["model.embed_tokens.weight"]}
    model.load_state_dict(weights | tied, strict=True)
    return lambda ids: model(ids).logits


def gpt(meta, weights):
    layers, heads = int(meta["layers"]), int(meta["heads"])
    return lambda ids: gpt_logits(ids, weights, layers, heads)


def gpt_logits(ids, w, layers, heads):
    """ids[B,T] -> logits[B,T,V]"""
    T = ids.shape[1]
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:T]
    C = x.shape[-1]

    def norm(x, name):
        return F.layer_norm(x, (C,), w[name + ".weight"], w[name + ".bias"])

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    for layer in range(layers):
        h = f"transformer.h.{layer}."
        qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn").split(C, dim=-1)
        q, k, v = (part.unflatten(-1, (heads, C // heads)).transpose(1, 2) for part in qkv)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        x = x + linear(att, h + "attn.c_proj")
        fc = F.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh")
        x = x + linear(fc, h + "mlp.c_proj")
    return norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].T


def main():
    meta, weights = load(sys.argv[1])
    models = {"gpt": gpt, "modern": modern}
    if meta["model"] not in models:
        sys.exit(f"{sys.argv[1]} is a {meta['model']}, not a gpt or modern")
    logits_of = models[meta["model"]](meta, weights)
    if meta["characters"] == "utf-8":
        place = {character: i for i, character in enumerate(meta["vocabulary"])}
        with open(sys.argv[2], encoding="utf-8", newline="") as file:
            ids = torch.tensor([place[character] for character in file.read()])
    else:
        with open(sys.argv[2], "rb") as file:
            ids = torch.tensor(list(file.read()))
    T, total = int(meta["context"]), 0.0
    with torch.no_grad():
        for start in range(0, len(ids) - 1, 64 * T):
            # 64 windows at a time, then what is left: whole windows, and a short one
            stretch = ids[start : start + 64 * T + 1]
            whole = (len(stretch) - 1) // T * T
            for begin, end, length in ((0, whole, T), (whole, len(stretch) - 1, None)):
                if begin == end:
                    continue
                inputs = stretch[begin:end].view(-1, length or end - begin)
                logits = logits_of(inputs)
                targets = stretch[begin + 1 : end + 1]
                total += F.cross_entropy(logits.flatten(0, 1), targets, reduction="sum").item()
    nats = total / (len(ids) - 1)
    print(f"characters {len(ids)}\nnats_per_char {nats:.6f}\nbits_per_char {nats / math.log(2):.6f}")
    print(f"perplexity {math.exp(nats):.4f}")


if __name__ == "__main__":
    main()
