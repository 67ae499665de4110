"""What `./sample --export` and `./train --init` promise, held against Hugging Face transformers.

    make && make wheel && pip install build/*.whl
    python3 extras/formats/tests/exchange.py CHECKPOINT FILE

exports the checkpoint, a gpt or modern, opens the folder with AutoModelForCausalLM and
AutoTokenizer, and compares ids, text, logits and greedy text; then models of random weights that
transformers made, a GPT-2 and two Qwen3, with the characters in no order, are read by tril and
compared likewise; each is then trained further by tril, exported again, and compared once more. One
Qwen3 has fewer heads of keys and values than of queries, and an MLP of an odd width. FILE is a text of the checkpoint's vocabulary. `--record FOLDER` makes
extras/formats/tests/golden. Needs the packages torch, transformers and tril; is no part of
`make test`.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import tokenizers
import torch
import transformers

import tril

TOLERANCE = 1e-4
KINDS = "gpt2", "qwen3", "qwen3-shared"


def ours(folder, text):
    with tril.Model.load(folder) as model:
        T = model.sizes.context
        return torch.cat([torch.from_numpy(model.read(text[i : i + T]).logits.copy()) for i in range(0, len(text), T)])


def theirs(model, ids):
    T, out = model.config.max_position_embeddings, []
    with torch.no_grad():
        for i in range(0, len(ids), T):
            out.append(model(torch.tensor([ids[i : i + T]])).logits[0])
    return torch.cat(out)


def is_bytes(tokenizer):
    return isinstance(tokenizer.backend_tokenizer.pre_tokenizer, tokenizers.pre_tokenizers.ByteLevel)


def code_of(tokenizer, i):
    """The code point that an id stands for, or the byte."""
    character = tokenizer.backend_tokenizer.id_to_token(i)
    if not is_bytes(tokenizer):
        return ord(character)
    seen = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b and b != 0xAD]
    unseen = [b for b in range(256) if b not in seen]
    return ord(character) if ord(character) < 256 else unseen[ord(character) - 256]


def plain(text):
    """Without the end of the line, and what bytes that are no character become."""
    return text.rstrip("\n").replace("\ufffd", "")


def compare(name, folder, path, checkpoint):
    """`checkpoint` and the folder are one model; path is a text."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()[:4000]
    ids = tokenizer(text)["input_ids"]
    count = len(text.encode() if is_bytes(tokenizer) else text)
    assert len(ids) == count, f"{len(ids)} ids for {count} characters"
    assert tokenizer.decode(ids) == text, "the text comes back as another"
    # our ids are the places of the characters in their sorted order; rows are theirs
    rows = sorted(range(len(tokenizer)), key=lambda i: code_of(tokenizer, i))
    a = ours(checkpoint, text.encode() if is_bytes(tokenizer) else text)
    b = theirs(model, ids)[:, rows]
    worst = (a - b).abs().max().item()
    print(f"{name}: {len(ids)} characters, {len(tokenizer)} distinct, {type(model).__name__}, "
          f"{type(tokenizer).__name__}: logits differ by {worst:.1e} at most")
    assert model.dtype == torch.float32 and worst < TOLERANCE

    T = model.config.max_position_embeddings
    prompt = text[: T // 4 // (count // len(text))]
    more = min(100, T // 2)
    given = tokenizer(prompt, return_tensors="pt")
    said = model.generate(**given, max_new_tokens=more, do_sample=False)[0]
    we = subprocess.run(["./sample", "-t", "0", "--precision", "f32", "-n", str(more), "-p", prompt,
                         checkpoint], check=True, capture_output=True, text=True).stdout
    assert plain(we) == plain(tokenizer.decode(said)), "another greedy text"
    print(f"{name}: the same {more} characters, always the likeliest")


def config_of(kind, size):
    """Sizes other than any that tril would choose."""
    layers, heads, width, context = 2, 3, 12, 10
    own = {"hidden_size": width, "intermediate_size": 32, "num_attention_heads": heads,
           "num_key_value_heads": heads, "head_dim": width // heads}
    shared = {"hidden_size": 24, "intermediate_size": 19, "num_attention_heads": 6,
              "num_key_value_heads": 2, "head_dim": 4}
    none = {"bos_token_id": None, "eos_token_id": None}
    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=size, n_layer=layers, n_head=heads, n_embd=width, n_positions=context,
            initializer_range=0.2, **none)
    return transformers.Qwen3Config(
        vocab_size=size, num_hidden_layers=layers, max_position_embeddings=context,
        rms_norm_eps=1e-6, tie_word_embeddings=True,
        initializer_range=0.2, **none, **(shared if kind == "qwen3-shared" else own))


def made_elsewhere(folder, kind, characters):
    """A model of random weights as transformers saves it, its characters in no order."""
    torch.manual_seed(1)
    random.Random(1).shuffle(characters)
    model = transformers.AutoModelForCausalLM.from_config(config_of(kind, len(characters)))
    for name, weights in model.named_parameters():  # norms and biases, too
        if weights.ndim == 1:
            torch.nn.init.normal_(weights, float("bias" not in name), 0.2)
    model.save_pretrained(folder)
    level = tokenizers.models.WordLevel({c: i for i, c in enumerate(characters)})
    tokenizer = tokenizers.Tokenizer(level)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = tokenizers.decoders.Fuse()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"]
    ).save_pretrained(folder)


def record(place):
    """The small case that `make test` keeps to: folders as transformers saves them, and what it
    computes: of a text's characters, one a line, the code point, then the logits of all."""
    text = "a\nb é中𝄞!ab\""
    for kind in KINDS:
        folder = pathlib.Path(place) / kind
        made_elsewhere(folder, kind, sorted(set(text)))
        model = transformers.AutoModelForCausalLM.from_pretrained(folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        ids = tokenizer(text)["input_ids"]
        rows = sorted(range(len(tokenizer)), key=lambda i: code_of(tokenizer, i))
        with open(folder / "logits.txt", "w") as file:
            for c, logits in zip(text, theirs(model.double(), ids)[:, rows], strict=True):
                print(ord(c), *(f"{x:.9g}" for x in logits.tolist()), file=file)


def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if sys.argv[1] == "--record":
        return record(sys.argv[2])
    checkpoint, path = sys.argv[1:]
    with open(path, encoding="utf-8", newline="") as file:
        characters = sorted(set(file.read()))
    with tempfile.TemporaryDirectory() as there:
        folder = f"{there}/exported"
        subprocess.run(["./sample", "--export", folder, checkpoint], check=True)
        compare("exported", folder, path, checkpoint)
        compare("read back", folder, path, folder)
        for kind in KINDS:
            made, further = f"{there}/{kind}", f"{there}/{kind}.safetensors"
            made_elsewhere(made, kind, characters)
            compare(f"{kind} made elsewhere", made, path, made)
            subprocess.run(["./train", "-q", "-s", "50", "-b", "4", "--init", made, "-o", further, path],
                           check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["./sample", "--export", f"{made}-further", further], check=True)
            compare(f"{kind} trained further", f"{made}-further", path, further)


main()
