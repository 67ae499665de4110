"""Compares models that tril exchanges with transformers and llama.cpp: the ids, the logits and the text that each chooses.

    pip install build/*.whl numpy safetensors tokenizers gguf torch transformers xllamacpp
    TRIL_TEXT=data/sample.txt python3 extras/bench/peers/exchange.py

With --record it writes the golden models of extras/python/tests/test_exchange.py.
"""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

import numpy
import safetensors.numpy
import tokenizers
import torch
import transformers
import xllamacpp  # which has llama.cpp inside

import tril
from tril import exchange

sys.path.append("extras/python/tests")
from test_exchange import GOLDEN, KINDS, WORDS, Folder, logits_of, random_weights

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

TEXT = pathlib.Path(os.environ["TRIL_TEXT"]).read_text(encoding="utf-8")
SIZES = dict(layers=2, heads=2, width=32, context=64, batch=4, threads=1, precision="f32")


def made_elsewhere(folder, kind, characters):
    """A model of random weights as transformers saves it, its characters in no order."""
    characters = sorted(characters)
    random.Random(1).shuffle(characters)
    layers, heads, width, context, size = 2, 3, 12, 10, len(characters)
    none = {"bos_token_id": None, "eos_token_id": None, "vocab_size": size}
    if kind == "gpt2":
        config = transformers.GPT2Config(n_layer=layers, n_head=heads, n_embd=width, n_positions=context, **none)
    else:
        hidden, wide, heads, shared = (width, 32, heads, heads) if kind == "qwen3" else (24, 19, 6, 2)
        config = transformers.Qwen3Config(
            num_hidden_layers=layers, max_position_embeddings=context, rms_norm_eps=1e-6, tie_word_embeddings=True, head_dim=4,
            hidden_size=hidden, intermediate_size=wide, num_attention_heads=heads, num_key_value_heads=shared, **none)
    model = transformers.AutoModelForCausalLM.from_config(config)
    numbers = random_weights({name: weights.shape for name, weights in model.named_parameters()})
    model.load_state_dict({name: torch.from_numpy(x) for name, x in numbers.items()}, strict=False)  # without what is tied
    model.save_pretrained(folder)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({c: i for i, c in enumerate(characters)}))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = tokenizers.decoders.Fuse()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"]).save_pretrained(folder)


def theirs(folder, text, double=False):
    """The model and the tokenizer of transformers, and the logits of a text; columns are in the order of tril's ids."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids, T = tokenizer(text)["input_ids"], model.config.max_position_embeddings
    columns = [tokenizer.get_vocab()[c] for c in sorted(tokenizer.get_vocab())] if len(tokenizer) != 256 else list(range(256))
    computes = model.double() if double else model
    with torch.no_grad():
        logits = numpy.concatenate([computes(torch.tensor([ids[i:i + T]])).logits[0].numpy() for i in range(0, len(ids), T)])
    assert tokenizer.decode(ids) == text, "the text comes back as another"
    return model, tokenizer, logits[:, columns]


class Transformers(Folder):
    def compare(self, model, folder, text):
        other, tokenizer, logits = theirs(folder, text)
        ours = logits_of(model, text.encode() if len(tokenizer) == 256 else text)
        print(f"{folder.name}: logits differ by {abs(ours - logits).max():.1e} at most, of {abs(logits).max():.1f}")
        self.close(ours, logits, 1e-5)
        start = text[:model.sizes.context // 4]
        more = int(model.sizes.context // 2)
        said = other.generate(**tokenizer(start, return_tensors="pt"), max_new_tokens=more, do_sample=False)[0]
        self.assertEqual(tokenizer.decode(said), start + model.generate(start, length=more, temperature=0, precision="f32"))

    def test_both_ways(self):
        text = TEXT[:2000]
        for rung, bytes in ("gpt", False), ("modern", False), ("modern", True):
            model = tril.train(TEXT, rung, steps=100, bytes=bytes, **SIZES)
            exchange.write_folder(model, self.folder / f"{rung}{bytes}")
            self.compare(model, self.folder / f"{rung}{bytes}", text)
        for kind in KINDS:
            made_elsewhere(self.folder / kind, kind, set(TEXT))
            model = exchange.read_folder(self.folder / kind)
            self.compare(model, self.folder / kind, text)
            further = tril.train(TEXT, init=model, steps=50, batch=4, precision="f32")
            exchange.write_folder(further, self.folder / f"{kind}-further")
            self.compare(further, self.folder / f"{kind}-further", text)


# llama.cpp looks up GELU, which gpt has, in a table of 16-bit numbers, and rounds the inputs of products with a q8_0
# matrix to 8 bits.
TOLERANCES = {"f32": 1e-4, "f16": 2e-2, "q8_0": 3e-1}
TABLE = {"gpt": 1e-3, "modern": 0}


class Llama(Folder):
    def server(self, path):
        how = xllamacpp.CommonParams()
        how.model.path, how.n_ctx, how.n_parallel, how.warmup, how.verbosity = str(path), SIZES["context"], 1, False, 0
        how.cache_type_k = how.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        how.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        how.no_extra_bufts = True  # its kernels for AMX crash on q8_0 (issue 20824 of llama.cpp)
        return xllamacpp.Server(how)

    def compare(self, model, type):
        path, text = self.folder / f"{model.sizes.rung}{len(model.tokenizer)}{type}.gguf", TEXT[:16]
        exchange.write_gguf(model, path, type)
        server, worst = self.server(path), 0
        asked = {"prompt": text, "n_predict": 32, "temperature": 0, "n_probs": len(model.tokenizer), "cache_prompt": False}
        said = server.handle_completions(asked)
        self.assertEqual(said["usage"]["prompt_tokens"], len(text))
        self.assertEqual(said["usage"]["completion_tokens"], 32)
        if type == "f32":
            self.assertEqual(said["choices"][0]["text"], model.generate(text, length=32, temperature=0, precision="f32"))
        for token in said["choices"][0]["logprobs"]["content"]:
            logits = numpy.asarray(model.read(text.encode()).logits[-1], float)
            ours = logits - numpy.logaddexp.reduce(logits)
            self.assertEqual(len(token["top_logprobs"]), len(ours))
            worst = max(worst, *(abs(one["logprob"] - ours[one["id"]]) for one in token["top_logprobs"]))
            text += token["token"]
        print(f"{path.name}: logarithms of probabilities differ by {worst:.1e} at most")
        self.assertLess(worst, TOLERANCES[type] + TABLE[model.sizes.rung])

    def test_models(self):
        for rung, bytes in ("gpt", False), ("modern", False), ("modern", True):
            model = tril.train(TEXT, rung, steps=300, bytes=bytes, **SIZES)
            for type in exchange.TYPES:
                self.compare(model, type)


def record():
    """Writes what transformers saves and computes: the parts that the models share, and a model, one a line."""
    found = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            made_elsewhere(pathlib.Path(folder), kind, set(WORDS))
            config, tokenizer = (json.loads(pathlib.Path(folder, f"{name}.json").read_text("utf-8")) for name in ("config", "tokenizer"))
            tensors = safetensors.numpy.load_file(pathlib.Path(folder, "model.safetensors"))
            logits = theirs(folder, WORDS, double=True)[2]
        found[kind] = {"config": config, "tokenizer": tokenizer, "tensors": {name: x.shape for name, x in tensors.items()},
                       "logits": [[float(f"{x:.9g}") for x in row] for row in logits]}
    GOLDEN.write_text("{" + ",\n".join(f"{json.dumps(kind)}: {json.dumps(one, ensure_ascii=False)}" for kind, one in found.items()) + "}\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record()
    else:
        unittest.main()
