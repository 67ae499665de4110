"""Exchanges models with other programs:

    python3 -m tril export MODEL FOLDER          # for Hugging Face transformers
    python3 -m tril export MODEL NAME.gguf TYPE  # for llama.cpp; f32, f16 or q8_0
    python3 -m tril import FOLDER MODEL          # from transformers

gpt is transformers' GPT-2 and llama.cpp's gpt2, modern is Qwen3 and qwen3; no other rung has a counterpart.
A folder may come from any program: a setting with which its model would compute something else is an
error, and so is a tokenizer that does not map each character, or each byte, by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import sys
import tempfile
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from tril import Error, Model, Path, Tokenizer, _call

PACKAGES = "numpy safetensors tokenizers gguf"
TYPES = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "q8_0": "MOSTLY_Q8_0"}  # with the names of GGUF


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Error(f"{error}; exchanging models needs: pip install {PACKAGES}", "argument") from None


# ---- architectures ----


class _Architecture(NamedTuple):
    rung: str
    model_type: str  # in config.json
    class_name: str
    embedding: str  # the tensor with a row for each token
    mlp: str  # the tensor with a row for each channel of the MLP
    sizes: Dict[str, str]  # the key of each size
    required: List[str]  # settings without a default that suits tril
    dropout: List[str]  # keys of the dropout of a training run, which may not be that of tril


GPT2 = _Architecture(
    "gpt", "gpt2", "GPT2LMHeadModel", "transformer.wte.weight", "transformer.h.0.mlp.c_fc.weight",
    {"vocab_size": "V", "n_positions": "context", "n_embd": "width", "n_layer": "layers", "n_head": "heads"},
    [], ["embd_pdrop", "attn_pdrop", "resid_pdrop"])
QWEN3 = _Architecture(
    "modern", "qwen3", "Qwen3ForCausalLM", "model.embed_tokens.weight", "model.layers.0.mlp.gate_proj.weight",
    {"vocab_size": "V", "max_position_embeddings": "context", "hidden_size": "width", "num_hidden_layers": "layers",
     "num_attention_heads": "heads", "num_key_value_heads": "kv_heads", "intermediate_size": "hidden"},
    ["head_dim", "tie_word_embeddings"], ["attention_dropout"])


def _settings(architecture: _Architecture, sizes: Dict[str, int]) -> Dict[str, Any]:
    """The settings of config.json, beside the sizes, with which transformers computes what tril computes."""
    if architecture is GPT2:
        return {"n_inner": 4 * sizes["width"], "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
                "tie_word_embeddings": True, "add_cross_attention": False, "scale_attn_weights": True,
                "scale_attn_by_inverse_layer_idx": False}
    return {"head_dim": sizes["width"] // sizes["heads"], "hidden_act": "silu", "rms_norm_eps": 1e-6,
            "tie_word_embeddings": True, "attention_bias": False, "use_sliding_window": False, "rope_theta": 10000.0,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}


def _architecture_of(model: Model) -> _Architecture:
    for architecture in (GPT2, QWEN3):
        if architecture.rung == model.sizes.rung:
            return architecture
    raise Error(f"no other program has the architecture of {model.sizes.rung}; train one that they have: "
                "tril train --model modern FILE, or --model gpt", "argument")


def _arrays(model: Model) -> Dict[str, Any]:
    numpy = _package("numpy")
    return {name: numpy.asarray(weights) for name, weights in model.weights.items()}


def _is_transposed(name: str, weights: Any) -> bool:
    """Whether transformers stores a matrix transposed: its Conv1D, in the blocks of GPT-2, does."""
    return name.startswith("transformer.h.") and weights.ndim == 2


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[pathlib.Path]:
    """Yields a path to write to, and moves what is there to `path`, which must be new or an empty folder."""
    path = pathlib.Path(path)
    if os.path.lexists(path) and not (path.is_dir() and not path.is_symlink() and next(path.iterdir(), None) is None):
        raise Error(f"{path}: already exists; choose another name", "file")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as there:
        new = pathlib.Path(there, path.name)
        yield new
        if path.is_dir():
            path.rmdir()
        new.rename(path)


# ---- tokenizers ----


def _byte_characters() -> List[str]:
    """The character for each byte in a tokenizer of bytes (Radford et al., 2019): a visible byte's own, or one from
    U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return [chr(byte if byte in seen else 0x100 + unseen.index(byte)) for byte in range(256)]


def _write_tokenizer(tokenizer: Tokenizer) -> str:
    """The text of tokenizer.json: a BPE without merges, so that each character stays a token."""
    tokenizers, size, bytes_ = _package("tokenizers"), len(tokenizer), tokenizer._record.bytes
    characters = _byte_characters() if bytes_ else [tokenizer.decode([i]) for i in range(size)]
    made = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate(characters)}, []))
    if bytes_:
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = tokenizers.decoders.ByteLevel() if bytes_ else tokenizers.decoders.Fuse()
    return str(made.to_str(pretty=True))


def _read_tokenizer(path: pathlib.Path) -> Tuple[Tokenizer, List[int]]:
    """The tokenizer, and the id in tokenizer.json of each of its ids."""
    tokenizers, parts = _package("tokenizers"), _json(path)

    def check(right: bool, wrong: str) -> None:
        if not right:
            raise Error(f"{path}: not a tokenizer of single characters: {wrong}", "file")

    try:
        theirs = tokenizers.Tokenizer.from_str(json.dumps(parts))
    except Exception as error:
        raise Error(f"{path}: not a tokenizer: {error}", "file") from None
    for part in ("normalizer", "truncation", "padding"):
        check(getattr(theirs, part) is None, f"it has {part}")
    models = tokenizers.models.BPE, tokenizers.models.WordLevel
    check(isinstance(theirs.model, models), "its model is neither BPE nor WordLevel")
    check(not parts["model"].get("merges"), "it has merges")
    step = parts.get("pre_tokenizer") or {}
    check(step.get("type") in (None, "ByteLevel") or
          (step["type"] == "Split" and step["pattern"] in ({"String": ""}, {"Regex": ""})),
          "its pre_tokenizer splits into neither characters nor bytes")

    known = theirs.get_vocab()
    tokens = {i: token for token, i in known.items()}
    check(sorted(tokens) == list(range(len(known))), f"its ids are not 0 to {len(known) - 1}, each once")
    for i, token in tokens.items():
        check(len(token) == 1, f"token {i}, {token[:32]!r}, is not one character")
    if step.get("type") == "ByteLevel":
        characters, ours = _byte_characters(), Tokenizer(None)
        check(sorted(characters) == sorted(known), f"its {len(known)} tokens are not the 256 bytes")
        alphabet = [chr(code) for code in (*range(128), 0xE9, 0x4E2D, 0x1D11E)]
    else:
        characters = alphabet = sorted(known)
        ours = Tokenizer("".join(characters))
    ids = [known[c] for c in characters]
    # each character twice and, because some parts strip blanks, between two
    text = "".join(c + c + (f" {c} " if " " in alphabet else "") for c in alphabet)
    try:
        found = theirs.encode(text).ids
    except Exception as error:
        check(False, str(error))
    check(found == [ids[i] for i in ours.encode(text)], "it does not map each character to its id")
    return ours, ids


# ---- to other programs ----


def write_folder(model: Model, path: Path) -> None:
    """Writes a model as a new folder, which transformers opens with AutoModelForCausalLM and AutoTokenizer."""
    architecture, arrays, numpy = _architecture_of(model), _arrays(model), _package("numpy")
    own = model.sizes._asdict()
    own.update(V=len(model.tokenizer), kv_heads=own["kv_heads"] or own["heads"], hidden=len(arrays[architecture.mlp]))
    config = {"model_type": architecture.model_type, "architectures": [architecture.class_name],
              "dtype": "float32", "torch_dtype": "float32",
              "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
              **{key: own[size] for key, size in architecture.sizes.items()}, **_settings(architecture, own),
              **{key: 0.0 for key in architecture.dropout}}
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "attention_mask"],
                 "clean_up_tokenization_spaces": False, "model_max_length": own["context"]}
    stored = {name: numpy.ascontiguousarray(weights.T if _is_transposed(name, weights) else weights)
              for name, weights in arrays.items()}
    text = _write_tokenizer(model.tokenizer)
    save = _package("safetensors.numpy").save
    with _replacing(path) as folder:
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer, indent=2) + "\n")
        (folder / "model.safetensors").write_bytes(save(stored, {"format": "pt"}))  # which transformers requires


def _token_text(tokenizer: Tokenizer, i: int) -> str:
    """A token for llama.cpp: a backslash begins an escape, and \\x with two digits is a byte."""
    bytes_ = tokenizer._record.bytes
    character = chr(i) if bytes_ else tokenizer.decode([i])
    if not " " <= character < "\x7f" and (bytes_ or character <= "\x7f"):
        return f"\\x{ord(character):02x}"
    return "\\\\" if character == "\\" else character


def write_gguf(model: Model, path: Path, type: str = "f32") -> None:
    """Writes a model as one new file, which llama.cpp loads. Matrices are "f32", "f16" or "q8_0"; vectors and the
    table of positions stay f32. The tokenizer is llama.cpp's for RWKV, which only looks up the longest token: so
    each character stays a token, and none ends a text."""
    architecture, arrays, gguf, numpy = _architecture_of(model), _arrays(model), _package("gguf"), _package("numpy")
    if type not in TYPES:
        raise Error(f"type: {type!r} is not one of {', '.join(TYPES)}", "argument")
    sizes, types = model.sizes, gguf.GGMLQuantizationType
    head = sizes.width // sizes.heads
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture.model_type.upper()], int(sizes.layers))
    numbers = {}
    for name, weights in arrays.items():
        kept = weights.ndim < 2 or ".wpe." in name
        stored = types.F32 if kept or type == "f32" else types.F16 if type == "f16" or weights.shape[1] % 32 else types.Q8_0
        if stored != types.F32 and not abs(weights).max() < 65520:
            raise Error(f"{name}: the weight {abs(weights).max():g} is too large for 16 bits; choose f32", "argument")
        numbers[names.get_name(name, (".weight", ".bias"))] = gguf.quants.quantize(weights, stored), stored
    with _replacing(path) as new:
        file = gguf.GGUFWriter(new, architecture.model_type)
        file.add_type("model")
        file.add_name(architecture.rung)
        file.add_file_type(gguf.LlamaFileType[TYPES[type]])
        file.add_quantization_version(gguf.GGML_QUANT_VERSION)
        for key, size in {
                "context_length": sizes.context, "embedding_length": sizes.width, "block_count": sizes.layers,
                "feed_forward_length": len(arrays[architecture.mlp]), "head_count": sizes.heads,
                "head_count_kv": sizes.kv_heads or sizes.heads, "key_length": head, "value_length": head,
                "vocab_size": len(model.tokenizer)}.items():
            getattr(file, f"add_{key}")(size)
        if architecture is GPT2:
            file.add_layer_norm_eps(1e-5)
        else:
            file.add_layer_norm_rms_eps(1e-6)
            file.add_rope_freq_base(10000.0)
        file.add_tokenizer_model("rwkv")
        file.add_token_list([_token_text(model.tokenizer, i) for i in range(len(model.tokenizer))])
        file.add_token_types([gguf.TokenType.NORMAL] * len(model.tokenizer))
        file.add_add_bos_token(False)
        file.add_add_eos_token(False)
        for name, (weights, stored) in numbers.items():
            file.add_tensor(name, weights, raw_dtype=stored)
        file.write_header_to_file()
        file.write_kv_data_to_file()
        file.write_tensors_to_file()
        file.close()


# ---- from transformers ----


def _json(path: pathlib.Path) -> Dict[str, Any]:
    def pairs(members: List[Tuple[str, Any]]) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        for key, value in members:
            if key in found:
                raise ValueError(f"it has {key!r} twice")
            found[key] = value
        return found

    try:
        found = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=pairs)
        if not isinstance(found, dict):
            raise ValueError("it is not an object")
        return found
    except (ValueError, RecursionError) as error:
        raise Error(f"{path}: not valid JSON: {error}", "file") from None


def _read_config(path: pathlib.Path) -> Tuple[_Architecture, Dict[str, int]]:
    """The architecture and the sizes that config.json states."""
    config, sizes = _json(path), {}
    kinds = {a.model_type: a for a in (GPT2, QWEN3)}
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in kinds:
        raise Error(f"{path}: 'model_type' is {kind!r:.64}, but only gpt2 and qwen3 can be read", "file")
    architecture = kinds[kind]
    for key, size in architecture.sizes.items():
        value = config.get(key)
        if type(value) is not int or not 1 <= value < 1 << 31:
            raise Error(f"{path}: has no valid {key!r}", "file")
        sizes[size] = value

    allowed = {key: [value] for key, value in _settings(architecture, sizes).items()}
    if architecture is GPT2:
        allowed["n_inner"].append(None)
        for key, size in zip(QWEN3.sizes, ("V", "context", "width", "layers", "heads")):  # the same under other names
            allowed[key] = [sizes[size]]
    rope = allowed.pop("rope_parameters", None)
    if rope:
        allowed["rope_scaling"], parameters = [None], config.get("rope_parameters")
        if not isinstance(parameters, (dict, type(None))):
            raise Error(f"{path}: 'rope_parameters' is not an object", "file")
        allowed.update({f"rope_parameters.{key}": [rope[0].get(key)] for key in {**rope[0], **(parameters or {})}})
        config.update({f"rope_parameters.{key}": value for key, value in (parameters or {}).items()})
    for key, values in allowed.items():
        if key not in config and key not in architecture.required:
            continue
        value = config.get(key)
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in values):
            said = json.dumps(value) if key in config else "missing"
            raise Error(f"{path}: {key!r} is {said:.64}, but tril's {architecture.rung} needs {json.dumps(values[0])}", "file")
    return architecture, sizes


def _read_tensors(folder: pathlib.Path) -> Iterator[Tuple[str, pathlib.Path, Any]]:
    """The name, the file and the numbers, as float32, of each tensor."""
    numpy, safetensors = _package("numpy"), _package("safetensors")
    paths, index = [folder / "model.safetensors"], folder / "model.safetensors.index.json"
    if index.exists() and not paths[0].exists():
        parts = _json(index).get("weight_map")
        if not isinstance(parts, dict) or not parts:
            raise Error(f"{index}: has no weight_map", "file")
        for name in parts.values():
            if not isinstance(name, str) or not name or set("/\\") & set(name):
                raise Error(f"{index}: names a file outside of the folder", "file")
        paths = [folder / name for name in sorted(set(parts.values()))]
    for path in paths:
        try:
            tensors = safetensors.deserialize(path.read_bytes())
        except safetensors.SafetensorError as error:
            raise Error(f"{path}: not a valid file of tensors: {error}", "file") from None
        for name, tensor in tensors:
            kinds = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
            if tensor["dtype"] not in kinds:
                raise Error(f"{path}: tensor {name} is {tensor['dtype']}, not F32, F16 or BF16", "file")
            numbers = numpy.frombuffer(tensor["data"], kinds[tensor["dtype"]]).reshape(tensor["shape"])
            if tensor["dtype"] == "BF16":  # the upper half of a float32
                numbers = (numbers.astype("<u4") << 16).view("<f4")
            yield name, path, numbers.astype(numpy.float32)


def read_folder(path: Path) -> Model:
    """Reads a GPT-2 or a Qwen3 of transformers, which any program may have trained. Weights may be in float32,
    float16 or bfloat16, in one file or in several. Dropout becomes 0."""
    folder, numpy = pathlib.Path(path), _package("numpy")
    if folder.is_file():
        raise Error(f"{path}: is a file; only the folder of a model of transformers can be imported", "file")
    tokenizer, ids = _read_tokenizer(folder / "tokenizer.json")
    architecture, sizes = _read_config(folder / "config.json")
    if sizes.pop("V") != len(tokenizer):
        raise Error(f"{folder / 'config.json'}: its vocabulary is not the {len(tokenizer)} tokens of tokenizer.json", "file")
    tensors = list(_read_tensors(folder))
    # before memory is taken for a model whose sizes are wrong
    width, most = sizes["width"], sum(numbers.size for _, _, numbers in tensors)
    if width * max(sizes["layers"] * max(width, sizes.get("hidden", 0)), sizes["context"] * (architecture is GPT2)) > most:
        raise Error(f"{folder / 'config.json'}: its sizes contradict the {most:,} numbers of the tensors", "file")
    try:
        model = Model(tokenizer, architecture.rung, **sizes)
    except Error as error:
        raise Error(f"{folder / 'config.json'}: {error}", "file") from None
    missing = _arrays(model)
    for name, file, numbers in tensors:
        ours = missing.pop(name, None)
        if ours is None:
            raise Error(f"{file}: tensor {name} is no part of {architecture.rung}, or there twice", "file")
        numbers = numbers.T if _is_transposed(name, numbers) else numbers
        if numbers.shape != ours.shape:
            raise Error(f"{file}: the shape of tensor {name} contradicts the sizes in config.json", "file")
        if not numpy.isfinite(numbers).all():
            raise Error(f"{file}: tensor {name} has numbers that are not finite", "file")
        ours[...] = numbers[ids] if name == architecture.embedding else numbers
    for name in missing:
        raise Error(f"{folder}: tensor {name} is missing", "file")
    return model


# ---- the commands ----


def main(command: str, words: List[str]) -> int:
    """Runs `tril export` or `tril import`."""
    parser = argparse.ArgumentParser(prog=f"tril {command}", description=__doc__.split("\n\n")[2])
    parser.add_argument("source", metavar="MODEL" if command == "export" else "FOLDER")
    parser.add_argument("to", metavar="FOLDER|NAME.gguf" if command == "export" else "MODEL")
    if command == "export":
        parser.add_argument("type", nargs="?", choices=TYPES, default="f32", help="of the matrices in a .gguf file (f32)")
    given = parser.parse_args(words)
    try:
        if command == "import":
            model = read_folder(given.source)
            with _replacing(given.to) as new:
                model.save(new)
        elif given.to.lower().endswith(".gguf"):
            write_gguf(Model.load(given.source), given.to, given.type)
        elif given.type == "f32":
            write_folder(Model.load(given.source), given.to)
        else:
            parser.error("a type is for .gguf files")
    except (Error, OSError) as error:
        print("tril:", f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error, file=sys.stderr)
        return 1
    return 0
