"""Tests tril.exchange as it was installed (extras/python/tests/test), with the packages that it needs.

golden.json has what transformers saves of three models, but for the weights, which follow from a seed; and the logits that
it computes of WORDS in float64. In qwen3-shared six heads of queries share two of keys and values, and the MLP has 19 channels.
extras/bench/peers/exchange.py makes it, and compares what transformers and llama.cpp compute.
"""
import contextlib
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import gguf
import numpy
import safetensors.numpy

import tril
from test_tril import Case
from tril import exchange

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden.json"
KINDS = {"gpt2": "gpt", "qwen3": "modern", "qwen3-shared": "modern"}
WORDS = "a\nb é中𝄞!ab\""
PAGE = pathlib.Path(os.environ["TRIL_TEXT"]).parent.parent / "docs/checkpoints.md"
ODD = "\x01\t\n\x1f \"'/\\\x7f\x80\xad\u2581\ufeff\ufffd\U0001d11eabc"


def logits_of(model, text):
    """Those after each character, in windows of the context laid end to end."""
    T = int(model.sizes.context)
    return numpy.concatenate([model.read(text[i:i + T]).logits.copy() for i in range(0, len(text), T)])


def random_model(rung, text, **sizes):
    """A model all of whose weights are random."""
    model = tril.Model(tril.Tokenizer(text), rung, **{**dict(layers=2, heads=2, width=12, context=8), **sizes})
    numbers = numpy.random.default_rng(4)
    for weights in model.weights.values():
        weights += 0.1 * numbers.standard_normal(weights.shape, numpy.float32)
    return model


def random_weights(shapes):
    """Numbers around 1 for norms, and around 0, the same on every machine, for all other tensors."""
    numbers = numpy.random.RandomState(3)  # whose numbers no version of NumPy changes
    return {name: (0.2 * numbers.standard_normal(shape) + (len(shape) == 1 and not name.endswith("bias"))).astype("f4")
            for name, shape in sorted(shapes.items())}


class Folder(Case):
    def setUp(self):
        super().setUp()
        self.golden = json.loads(GOLDEN.read_text(encoding="utf-8"))

    def fails(self, name, call, kind="file"):
        super().fails(kind, name, call)

    def saved(self, kind, change=lambda x: x, **others):
        """Saves a golden model as transformers does, but with changed numbers, or other parts than its own."""
        folder, parts = self.folder / "saved", {**self.golden[kind], **others}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in "config", "tokenizer":
            (folder / f"{name}.json").write_text(json.dumps(parts[name], indent=2, ensure_ascii=False), encoding="utf-8")
        tensors = {name: change(numbers) for name, numbers in random_weights(parts["tensors"]).items()}
        safetensors.numpy.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        return folder

    def close(self, ours, theirs, tolerance=1e-6):
        numpy.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# Values that no setting has, of every type of JSON; those that mean the same as the golden models' own; and what a
# folder cannot lack. Settings of other architectures, and of none, are there, too.
WRONG = None, True, False, 0, -2, 10**9, 2.5, 1e-7, 1e99, "2", "relu", [2], {"a": 1}
SAME = {"gpt2": {"n_inner": [48], "num_attention_heads": [3], "hidden_size": [12], "num_hidden_layers": [2],
                 "max_position_embeddings": [10], "unknown": []},
        "qwen3": {"rope_theta": [10000], "rope_scaling": [None], "rope_parameters": [None, {}],
                  "rope_parameters.rope_theta": [10000], "rope_parameters.rope_type": [], "rope_parameters.factor": [None]}}
REQUIRED = {"gpt2": ["model_type", *exchange.GPT2.sizes],
            "qwen3": ["model_type", *exchange.QWEN3.sizes, "head_dim", "tie_word_embeddings"]}

# (kind, file, what is replaced, by what, a part of the message); ' is "
CONFIG = "config.json"
BAD = [("gpt2", CONFIG, *edit) for edit in [
    ("'n_layer': 2", "'n_layer': 3", "missing"), ("'n_layer': 2", "'n_layer': 1", "transformer.h.1."),
    ("'n_embd': 12", "'n_embd': 15", "the shape"), ("'n_layer': 2", "'n_layer': 1000000000", "numbers"),
    ("'n_positions': 10", "'n_positions': 1000000000", "numbers"), ("'n_positions': 10", "'n_positions': 11", "wpe.weight"),
    ("'n_head': 3", "'n_head': 5", "12"), ("'vocab_size': 9", "'vocab_size': 10", "tokenizer.json"),
    ("{", "[", "JSON"), ("{", "{'n_embd': 12,", "'n_embd' twice"),
]] + [("qwen3", CONFIG, *edit) for edit in [
    ("'num_key_value_heads': 3", "'num_key_value_heads': 1", "_proj.weight"), ("'num_key_value_heads': 3", "'num_key_value_heads': 2", "2"),
    ("'intermediate_size': 32", "'intermediate_size': 31", "mlp."),
]] + [("qwen3", "model.safetensors", "q_proj", "q_prof", "q_prof.weight"), ("qwen3", "model.safetensors", "F32", "I32", "I32"),
      ("qwen3", "model.safetensors", "[12,12]", "[12,11]", "model.safetensors"),
] + [("gpt2", "tokenizer.json", *edit) for edit in [
    ("'WordLevel'", "'Unigram'", ""), ("'WordLevel'", "'BPE', 'merges': ['a b']", ""),
    ("'normalizer': null", "'normalizer': {'type': 'Lowercase'}", "normalizer"),
    ("'special_tokens': {}", "'special_tokens': {'!': {'id': '!', 'ids': [8], 'tokens': ['!']}}, 'single': [{'SpecialToken': "
     "{'id': '!', 'type_id': 0}}, {'Sequence': {'id': 'A', 'type_id': 0}}], 'was': {}", ""),
    ("'TemplateProcessing'", "'BertProcessing', 'sep': ['a', 3], 'cls': ['b', 0]", ""),
    ("'truncation': null", "'truncation': {'max_length': 4, 'strategy': 'LongestFirst', 'stride': 0, 'direction': 'Right'}", ""),
    ("'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'the'}]", ""),
    *(("'added_tokens': []", "'added_tokens': [{'id': %s, 'special': false, 'single_word': false, 'normalized': false, 'lstrip': %s, 'rstrip': %s}]"
       % one, "") for one in [("9, 'content': '<s>'", "false", "false"), ("9, 'content': 'z'", "false", "false"),
                              ("3, 'content': 'a'", "true", "false"), ("3, 'content': 'a'", "false", "true")]),
    ("'Split'", "'Whitespace'", "pre_tokenizer"), ("'String': ''", "'String': 'x'", "pre_tokenizer"),
    ("'Split'", "'ByteLevel', 'add_prefix_space': false, 'trim_offsets': true, 'use_regex': false", "256"),
    ("'WordLevel'", "'BPE', 'merges': [], 'end_of_word_suffix': '</w>'", ""), ("'a'", "'<unk>'", "'<unk>'"), ("'a'", "''", "''"),
    ("'a'", "'b'", "'b' twice"), ("'!': 8", "'!': 7", "0 to 8"), ("'!': 8", "'!': 9", "0 to 8"), ("'!': 8", "'!': -8", ""),
    ("'vocab'", "'vocabulary'", ""), ("'model': {", "'model': [", "JSON"),
]]

GOOD = [("gpt2", "tokenizer.json", *edit) for edit in [  # other spellings with the same meaning
    ("'WordLevel'", "'BPE', 'merges': [], 'end_of_word_suffix': ''"), ("'String': ''", "'Regex': ''"), ("'a'", "'\\u0061'"),
    ("'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'a', 'special': true, 'single_word': false, 'normalized': false, 'lstrip': false, 'rstrip': false}]"),
]]


class FromTransformers(Folder):
    def check(self, kind, folder):
        model = exchange.read_folder(folder)
        self.assertEqual(model.tokenizer.decode(range(len(model.tokenizer))), "".join(sorted(set(WORDS))))
        self.assertEqual(model.sizes.rung, KINDS[kind])
        self.close(logits_of(model, WORDS), numpy.array(self.golden[kind]["logits"]))

    def test_golden(self):
        for kind in KINDS:
            self.check(kind, self.saved(kind))

    def test_settings(self):
        """Each setting that the page lists is required or has a default, and no other value; others do not matter."""
        page = PAGE.read_text(encoding="utf-8")
        for kind, others in SAME.items():
            for key in {**self.golden[kind]["config"], **others}:
                *above, name = key.split(".")
                for value in *WRONG, *others.get(key, []), ...:
                    config = copy.deepcopy(self.golden[kind]["config"])
                    part = config[above[0]] if above else config
                    same = [part.pop(name, ...), *others.get(key, []), *[...] * (key not in REQUIRED[kind])]
                    if value is not ...:
                        part[name] = value
                    folder = self.saved(kind, config=config)
                    with self.subTest(kind=kind, key=key, value=value):
                        if any(value == one and type(value) is type(one) for one in same) or not (above or f"`{key}`" in page):
                            self.check(kind, folder)
                        else:  # a size that is too large contradicts another one, or the tensors
                            self.fails("saved" if value == 10**9 and key in REQUIRED[kind] else f"'{key}", lambda: exchange.read_folder(folder))

    def test_edits(self):
        for kind, file, old, new, *name in BAD + GOOD:
            folder = self.saved(kind)
            old, new = (part.replace("'", '"').encode() for part in (old, new))
            before = (folder / file).read_bytes()
            self.assertIn(old, before)
            (folder / file).write_bytes(before.replace(old, new, 1))
            with self.subTest(file=file, old=old, new=new):
                if name:
                    self.fails("saved", lambda: exchange.read_folder(folder))
                    self.fails(*name, lambda: exchange.read_folder(folder))
                else:
                    self.check(kind, folder)

    def test_damage(self):
        """Cut anywhere, a file is an error; with any byte changed, it is one, or is read."""
        for name, step in (CONFIG, 7), ("tokenizer.json", 7), ("model.safetensors", 1997):
            folder = self.saved("qwen3")
            whole = (folder / name).read_bytes().rstrip(b"\n")
            for at in range(0, len(whole), step):
                (folder / name).write_bytes(whole[:at])
                self.fails(name, lambda: exchange.read_folder(folder))
                (folder / name).write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1:])
                with contextlib.suppress(tril.Error):
                    exchange.read_folder(folder)
            (folder / name).unlink()
            self.assertRaises(FileNotFoundError, exchange.read_folder, folder)

    def split(self, kind):
        """Saves a golden model with its tensors in three files."""
        folder = self.saved(kind)
        tensors = safetensors.numpy.load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        files = {name: f"part-{i % 3}.safetensors" for i, name in enumerate(tensors)}
        for file in files.values():
            safetensors.numpy.save_file({n: t for n, t in tensors.items() if files[n] == file}, folder / file)
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
        return folder

    def test_types_and_parts(self):
        for kind in KINDS:
            whole = exchange.read_folder(self.saved(kind))
            self.assertEqual(exchange.read_folder(self.split(kind)).digest, whole.digest)
            half = exchange.read_folder(self.saved(kind, lambda x: x.astype("f2")))
            for name, weights in whole.weights.items():
                self.close(half.weights[name], weights, 2**-11)
            folder = self.saved(kind, lambda x: (x.view("u4") >> 16).astype("u2"))
            path = folder / "model.safetensors"
            data = path.read_bytes().replace(b'"U16"', b'"BF16"')  # each name is a byte longer
            size = int.from_bytes(data[:8], "little") + data.count(b'"BF16"')
            path.write_bytes(size.to_bytes(8, "little") + data[8:])
            upper = exchange.read_folder(folder)
            for name, weights in whole.weights.items():
                numpy.testing.assert_array_equal(upper.weights[name], (weights.view("u4") >> 16 << 16).view("f4"))

    def test_wrong_numbers(self):
        for number in numpy.inf, -numpy.inf, numpy.nan:
            folder = self.saved("qwen3", lambda x: numpy.where(x == x.max(), numpy.float32(number), x))
            self.fails("not finite", lambda: exchange.read_folder(folder))

    def test_index(self):
        folder = self.split("gpt2")
        index = folder / "model.safetensors.index.json"
        for text, name in ("{}", "weight_map"), ('{"weight_map": {}}', "weight_map"), ('{"weight_map": {"a": 3}}', "outside"), \
                ('{"weight_map": {"a": "../part-0.safetensors"}}', "outside"), ('{"weight_map": {"a": "part-0.safetensors"}}', "missing"):
            index.write_text(text)
            self.fails(name, lambda: exchange.read_folder(folder))
        index.write_text('{"weight_map": {"a": "part-7.safetensors"}}')
        self.assertRaises(FileNotFoundError, exchange.read_folder, folder)


class ToTransformers(Folder):
    def test_returns(self):
        """A written model is read with the same bits; what is there already stays."""
        models = [exchange.read_folder(self.saved(kind)) for kind in KINDS]
        models += [random_model(rung, text) for rung in ("gpt", "modern") for text in (ODD, None)]
        for i, model in enumerate(models):
            exchange.write_folder(model, self.folder / "new" / str(i))
            again = exchange.read_folder(self.folder / "new" / str(i))
            self.assertEqual((again.digest, again.sizes), (model.digest, model.sizes))
            self.assertEqual(repr(again.tokenizer), repr(model.tokenizer))
            self.fails("already exists", lambda: exchange.write_folder(model, self.folder / "new" / str(i)))
        (self.folder / "empty").mkdir()
        exchange.write_folder(models[0], self.folder / "empty")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["empty", "new", "saved"])

    def test_dropout(self):
        model = tril.train("to be or not to be " * 99, "gpt", steps=1, layers=1, heads=1, width=4, context=8, dropout=0.25)
        model.save(self.folder / "model")
        exchange.write_folder(tril.Model.load(self.folder / "model"), self.folder / "new")
        config = json.loads((self.folder / "new/config.json").read_text())
        self.assertEqual([config[key] for key in exchange.GPT2.dropout], [0.0] * 3)

    def test_refusals(self):
        for rung in tril.rungs():
            if rung not in KINDS.values():
                for path in "b", "b.gguf":
                    write = exchange.write_gguf if path.endswith("gguf") else exchange.write_folder
                    self.fails(rung, lambda: write(tril.Model(tril.Tokenizer("ab"), rung), self.folder / path), "argument")
        model = random_model("gpt", "ab")
        model.weights["transformer.wte.weight"][0, 5] = 70000
        for type in "f16", "q8_0", "f64":
            self.fails("70000" if type != "f64" else "f64", lambda: exchange.write_gguf(model, self.folder / "b.gguf", type), "argument")
        self.assertEqual(list(self.folder.iterdir()), [])
        with unittest.mock.patch.dict(sys.modules, {"gguf": None}):
            self.fails("pip install numpy", lambda: exchange.write_gguf(model, self.folder / "b.gguf"), "argument")

    def test_commands(self):
        def command(*words, status=0):
            ran = subprocess.run([sys.executable, "-m", "tril", *map(str, words)], capture_output=True, text=True, cwd=self.folder)
            self.assertEqual((ran.returncode, bool(ran.stderr)), (status, status != 0), ran)
            return ran.stderr

        model = random_model("modern", "abc")
        model.save(self.folder / "model")
        command("export", "model", "folder")
        command("import", "folder", "again")
        self.assertEqual(tril.Model.load(self.folder / "again").digest, model.digest)
        command("export", "model", "b.GGUF", "f16")
        (self.folder / "b.GGUF").rename(self.folder / "a.gguf")
        self.assertEqual(gguf.GGUFReader(self.folder / "a.gguf").fields["general.file_type"].contents(), 1)
        for words in ("import", "folder", "again"), ("export", "model", "folder"), ("export", "model", "a.gguf"):
            self.assertIn("already exists", command(*words, status=1))
        self.assertIn("none", command("import", "none", "new", status=1))
        self.assertIn("is a file", command("import", "a.gguf", "new", status=1))
        for words in ("export", "model"), ("export", "model", "new", "f16"), ("export", "model", "b.gguf", "f64"):
            command(*words, status=2)
        for words in ["-h"], ["web", "--help"], ["explain", "-h"]:
            command(*words)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.gguf", "again", "folder", "model"])


class ToLlama(Folder):
    def test_file(self):
        models = [(random_model(rung, ODD, width=width), width) for rung in ("gpt", "modern") for width in (12, 32)]
        for (model, width), type in ((one, type) for one in [*models, (exchange.read_folder(self.saved("qwen3-shared")), 24)]
                                     for type in exchange.TYPES):
            path = self.folder / "m.gguf"
            exchange.write_gguf(model, path, type)
            self.fails("already exists", lambda: exchange.write_gguf(model, path, type))
            file, sizes, weights = gguf.GGUFReader(path), model.sizes, model.weights
            path.unlink()
            fields = {key: field.contents() for key, field in file.fields.items()}
            name, gpt = fields["general.architecture"], sizes.rung == "gpt"
            mlp = "transformer.h.0.mlp.c_fc.weight" if gpt else "model.layers.0.mlp.gate_proj.weight"
            for key, value in {"context_length": sizes.context, "embedding_length": width, "block_count": sizes.layers,
                               "feed_forward_length": len(weights[mlp]), "attention.head_count": sizes.heads,
                               "attention.head_count_kv": sizes.kv_heads or sizes.heads, "attention.key_length": width // sizes.heads,
                               "attention.value_length": width // sizes.heads, "vocab_size": len(model.tokenizer)}.items():
                self.assertEqual(fields[f"{name}.{key}"], value, key)
            self.assertEqual((name, fields["tokenizer.ggml.model"]), ("gpt2" if gpt else "qwen3", "rwkv"))
            self.assertEqual(len(file.tensors), len(weights))
            for (ours, numbers), tensor in zip(weights.items(), file.tensors):
                kind = "F32" if numbers.ndim < 2 or "wpe" in ours else "F16" if type == "q8_0" and width % 32 and numbers.shape[1] % 32 else type.upper()
                self.assertEqual(tensor.tensor_type.name, kind, ours)
                theirs = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
                numpy.testing.assert_allclose(theirs, numbers, rtol=0, atol={"F32": 0, "F16": 2**-11, "Q8_0": 9e-3}[kind])
                self.assertEqual(tensor.name.rpartition(".")[2], ours.rpartition(".")[2])

    def test_tokens(self):
        for text, tokens in ("a\\ \n\t\x7f\"é▁𝄞", ["\\x09", "\\x0a", " ", "\"", "\\\\", "a", "\\x7f", "é", "▁", "𝄞"]), (None, None):
            exchange.write_gguf(random_model("modern", text), self.folder / f"{text is None}.gguf")
            fields = gguf.GGUFReader(self.folder / f"{text is None}.gguf").fields
            found = fields["tokenizer.ggml.tokens"].contents()
            self.assertEqual(found if tokens else [found[i] for i in (0, 0x41, 0x5C, 0xE9)], tokens or ["\\x00", "A", "\\\\", "\\xe9"])
            self.assertEqual(fields["tokenizer.ggml.token_type"].contents(), [1] * len(found))
            self.assertEqual([fields[f"tokenizer.ggml.add_{end}_token"].contents() for end in ("bos", "eos")], [False] * 2)


if __name__ == "__main__":
    unittest.main()
