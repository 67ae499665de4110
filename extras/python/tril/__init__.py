"""tril: character-level GPTs, trained on the CPU.

    import tril

    model = tril.train(open("play.txt").read(), rung="gpt", steps=500)
    print(model.generate("ROMEO:", length=200))
    model.save("play.safetensors")

A model is a rung of tril's ladder: tril.rungs() names them. Losses are in nats per character. A text
is a str, or bytes; a path to a text is a pathlib.Path. All defaults are those of the programs
`./train` and `./sample`: the same options give the same bits.

NumPy is not needed. With it, weights, logits and maps of attention are arrays that share the memory
of the library; without it they are memoryviews of the same shape.
"""

from __future__ import annotations

import codecs
import ctypes
import operator
import os
import pathlib
import re
import sys
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

try:
    import numpy
except ImportError:  # pragma: no cover - both ways are tested, each in its own environment
    numpy = None  # type: ignore[assignment]

__all__ = ["Error", "Line", "Model", "Options", "Reading", "Sizes", "Step", "Tokenizer", "Training", "rungs",
           "train", "version"]

Text = Union[str, bytes, "os.PathLike[str]"]

# ---- the library in C: library/tril.h; a size_t is a c_ssize_t here, to tell it from a seed ----

_KINDS = ["", "argument", "text", "file", "memory", "diverged", "stopped"]


class _Tokenizer(ctypes.c_void_p):
    """A TrilTokenizer *. A type for each object of the library, so that none is taken for another."""


class _Model(ctypes.c_void_p):
    """A TrilModel *."""


class _Training(ctypes.c_void_p):
    """A TrilTraining *."""


class _Reading(ctypes.c_void_p):
    """A TrilReading *."""


class _Writer(ctypes.c_void_p):
    """A TrilWriter *."""


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 512)]


class _Sizes(ctypes.Structure):
    _fields_ = [("rung", ctypes.c_char_p), ("layers", ctypes.c_int), ("heads", ctypes.c_int),
                ("width", ctypes.c_int), ("context", ctypes.c_int), ("kv_heads", ctypes.c_int),
                ("hidden", ctypes.c_int)]


class _Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("rows", ctypes.c_int), ("columns", ctypes.c_int),
                ("rank", ctypes.c_int), ("data", ctypes.c_void_p)]


class _Array(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("offset", ctypes.c_int), ("width", ctypes.c_int),
                ("row", ctypes.c_ssize_t), ("data", ctypes.c_void_p)]


class _Weights(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("rows", ctypes.c_int), ("columns", ctypes.c_int),
                ("data", ctypes.c_void_p)]


class _Line(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_char_p), ("layer", ctypes.c_int), ("heads", ctypes.c_int),
                ("inputs", _Array * 3), ("output", _Array), ("weights", _Weights * 2)]


class _Options(ctypes.Structure):
    _fields_ = [("steps", ctypes.c_int), ("epochs", ctypes.c_double), ("batch", ctypes.c_int),
                ("dropout", ctypes.c_double), ("learning_rate", ctypes.c_double),
                ("weight_decay", ctypes.c_double), ("embedding_decay", ctypes.c_double),
                ("windows", ctypes.c_char_p), ("held_out", ctypes.c_double),
                ("teacher", _Model), ("precision", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("seed", ctypes.c_uint64)]


class _Step(ctypes.Structure):
    _fields_ = [("step", ctypes.c_int), ("steps", ctypes.c_int), ("loss", ctypes.c_double),
                ("learning_rate", ctypes.c_double), ("norm", ctypes.c_double),
                ("seconds", ctypes.c_double)]


class _Sampling(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ssize_t), ("temperature", ctypes.c_double),
                ("top_k", ctypes.c_int), ("top_p", ctypes.c_double), ("seed", ctypes.c_uint64),
                ("precision", ctypes.c_char_p), ("threads", ctypes.c_int)]


class _Progress(ctypes.Structure):
    _fields_ = [("step", ctypes.c_int), ("steps", ctypes.c_int), ("seconds", ctypes.c_double),
                ("recent", ctypes.c_double), ("recent_steps", ctypes.c_int),
                ("lowest", ctypes.c_double), ("lowest_step", ctypes.c_int),
                ("since_lowest", ctypes.c_int), ("operations", ctypes.c_double),
                ("cooling", ctypes.c_int), ("cooled", ctypes.c_int)]


_FUNCTIONS = """
    name version()
    name rung(int)
    name rung_idea(int)
    status tokenizer_make(&handle, bytes, size, &error)
    status tokenizer_of_bytes(&handle, &error)
    status tokenizer_load(&handle, bytes, &error)
    none tokenizer_free(tokenizer)
    int tokenizer_size(tokenizer)
    status encode(tokenizer, bytes, size, &id, size, &size, &error)
    status decode(tokenizer, &id, size, address, size, &size, &error)
    sizes sizes()
    status model_make(&handle, tokenizer, &sizes, seed, &error)
    status model_load(&handle, bytes, &error)
    status model_save(model, bytes, &error)
    status model_extend(&handle, model, bytes, size, seed, &error)
    none model_free(model)
    address model_tokenizer(model)
    sizes model_sizes(model)
    size model_parameters(model)
    seed model_digest(model)
    int model_tensor(model, int, &tensor)
    options options()
    status training_open(&handle, model, bytes, size, &options, &error)
    none training_close(training)
    options training_options(training)
    int training_done(training)
    status training_step(training, &step, &error)
    status training_evaluate(training, &double, &error)
    status training_estimate(training, size, &double, &error)
    status training_set_steps(training, int, &error)
    status training_save(training, bytes, &error)
    status training_resume(&handle, &handle, bytes, bytes, size, int, &error)
    status evaluate(model, bytes, size, int, &double, &error)
    status reading_open(&handle, model, bytes, size, int, &error)
    status reading_trace(&handle, model, bytes, size, int, &error)
    none reading_close(reading)
    int reading_tokens(reading)
    size reading_skipped(reading)
    address reading_logits(reading)
    double reading_loss(reading)
    none reading_heads(reading, &int, &int)
    status reading_attention(reading, int, int, address, size, &error)
    status reading_scores(reading, int, int, address, size, &error)
    int reading_line(reading, int, &line)
    sampling sampling()
    status writer_open(&handle, model, &sampling, &error)
    none writer_close(writer)
    status writer_read(writer, bytes, size, &error)
    int writer_write(writer, address)
"""
_RANGES = {ctypes.c_int: (-1 << 31, (1 << 31) - 1), ctypes.c_ssize_t: (0, sys.maxsize),
           ctypes.c_uint64: (0, (1 << 64) - 1)}
_TYPES: Dict[str, Any] = {
    "none": None, "int": ctypes.c_int, "status": ctypes.c_int, "id": ctypes.c_int32,
    "size": ctypes.c_ssize_t, "seed": ctypes.c_uint64, "double": ctypes.c_double,
    "name": ctypes.c_char_p, "bytes": ctypes.c_char_p, "address": ctypes.c_void_p,
    "handle": ctypes.c_void_p, "tokenizer": _Tokenizer, "model": _Model, "training": _Training,
    "reading": _Reading, "writer": _Writer, "error": _Error, "sizes": _Sizes, "tensor": _Tensor,
    "line": _Line, "options": _Options, "step": _Step, "sampling": _Sampling,
}


def _open_library() -> ctypes.CDLL:
    """The library in the wheel; without one, that of the system."""
    own = pathlib.Path(__file__).with_name("libtril.so.0")
    lib = ctypes.CDLL(str(own) if own.exists() else own.name)
    for result, name, arguments in re.findall(r"(\w+) (\w+)\((.*)\)", _FUNCTIONS):
        function = getattr(lib, "tril_" + name)
        function.restype = _TYPES[result]
        function.argtypes = [ctypes.POINTER(_TYPES[kind[1:]]) if kind[0] == "&" else _TYPES[kind]
                             for kind in re.findall(r"&?\w+", arguments)]
    return lib


_lib = _open_library()


class Error(Exception):
    """A failure in the library: one sentence. `kind` is "argument", "text", "file", "memory" or
    "diverged"."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def _checked(kind: Any, value: Any, name: str) -> Any:
    """`value` as an argument or a member of this type. ctypes would cut integers that do not fit, and
    take any object of the library for any other."""
    if issubclass(kind, (_Tokenizer, _Model, _Training, _Reading, _Writer)):
        handle = getattr(value, "_handle", value)
        if not isinstance(handle, kind):
            raise TypeError(f"{name}: {value!r} is no {kind.__name__[1:]}")
        if not handle:
            raise Error(f"{name}: the {kind.__name__[1:].lower()} is closed", "argument")
        return handle
    if kind not in _RANGES:
        return value
    try:
        number, (least, most) = operator.index(value), _RANGES[kind]
    except TypeError:
        raise TypeError(f"{name}: {value!r} is not an integer") from None
    if not least <= number <= most:
        raise OverflowError(f"{name}: {number} is not between {least} and {most}")
    return number


def _call(name: str, *arguments: Any) -> Any:
    """Calls a function of the library, and raises its failure: all calls with an argument of the
    user's go this way."""
    function, error = getattr(_lib, "tril_" + name), _Error()
    given = [_checked(kind, value, name) for kind, value in zip(function.argtypes, arguments)]
    if len(given) == len(function.argtypes):
        return function(*given)
    status = function(*given, ctypes.byref(error))
    if status != 0:
        raise Error(error.text.decode("utf-8", "replace"), _KINDS[status])
    return status


def _bytes_of(text: Text) -> bytes:
    if isinstance(text, bytes):
        return text
    return text.encode() if isinstance(text, str) else pathlib.Path(text).read_bytes()


def _path(path: Union[str, "os.PathLike[str]"]) -> bytes:
    return _without_zeros(os.fsencode(path))


def _without_zeros(name: bytes) -> bytes:
    if b"\0" in name:
        raise ValueError(f"a zero byte in {name!r}, where C would end it")
    return name


def _fill(structure: Any, values: Dict[str, Any]) -> Any:
    """Sets the members that are not None. TypeError: a number for a name, which the library would
    take for an address, and a name for a number."""
    types = dict(structure._fields_)
    for name, value in values.items():
        is_name = types[name] is ctypes.c_char_p
        if value is None:
            continue
        if isinstance(value, str) != is_name:
            raise TypeError(f"{name}: {value!r} is not a {'name' if is_name else 'number'}")
        setattr(structure, name, _without_zeros(value.encode()) if is_name
                else _checked(types[name], value, name))
    return structure


def _numbers(address: int, shape: List[int], owner: Any) -> Any:
    """The floats at an address, which live as long as `owner`: an array, or a memoryview."""
    count = 1
    for side in shape:
        count *= side
    numbers = (ctypes.c_float * count).from_address(address)
    numbers.owner = owner
    view = memoryview(numbers).cast("B").cast("f", shape)
    return view if numpy is None else numpy.asarray(view)


def _columns(array: _Array, rows: int, owner: Any) -> Any:
    """Some columns of an array of the library: without a copy, if there is NumPy."""
    step, width = array.row, array.width
    numbers = (ctypes.c_float * ((rows - 1) * step + width)).from_address(array.data)
    numbers.owner = owner
    if numpy is not None:
        view = numpy.ndarray((rows, width), numpy.float32, numbers, strides=(4 * step, 4))
        view.flags.writeable = False
        return view
    copy = (ctypes.c_float * (rows * width))()
    for row in range(rows):
        copy[row * width:(row + 1) * width] = numbers[row * step:row * step + width]
    return memoryview(copy).cast("B").cast("f", [rows, width]).toreadonly()


class _Object:
    """What the library made, and releases with it."""

    _kind: Any  # of its handle
    _release: str

    def _own(self, *borrowed: Any) -> Any:
        """A place for its handle, for the function that makes it. What is put there is released even if
        Ctrl-C comes right after that call; what it borrows stays until then."""
        function, handle = getattr(_lib, "tril_" + self._release), self._kind()

        def release(_: Any) -> None:
            function(handle)
            handle.value = None

        self._handle, self._close = handle, weakref.finalize(self, release, borrowed)
        return ctypes.byref(handle)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a tril.{type(self).__name__} cannot be copied or pickled")


# ---- what is public ----


def version() -> str:
    """The version of the library."""
    return _lib.tril_version().decode()


def rungs() -> Dict[str, str]:
    """The names of the ladder's rungs, lowest first, each with the idea that it adds."""
    names: Dict[str, str] = {}
    while True:
        name = _lib.tril_rung(len(names))
        if name is None:
            return names
        names[name.decode()] = _lib.tril_rung_idea(len(names)).decode()


class Sizes(NamedTuple):
    """The sizes of a model."""

    rung: str
    layers: int
    heads: int
    width: int
    context: int
    kv_heads: int  # 0: as many as heads
    hidden: int  # 0: 8/3 of the width


class Line(NamedTuple):
    """One line of what a model computes: a call of a layer."""

    operation: str  # "linear", "attention", ...: all are in library/tril.h
    layer: int  # the block of the model
    heads: int  # of attention, rotary positions, and a norm of each head; else 0 or 1
    inputs: List[Any]  # arrays [T, width]: of attention queries, keys and values
    output: Any  # an array [T, width]
    weights: List[str]  # names in Model.weights: weight and bias, or the tables of an embedding


class Options(NamedTuple):
    """What a training was opened with, as it was decided."""

    steps: int
    epochs: float  # 0: no limit
    batch: int
    dropout: float
    learning_rate: float
    weight_decay: float  # of the blocks' matrices, below modern of all; negative: the rung's own
    embedding_decay: float  # negative: the rung has none of its own
    windows: str
    held_out: float
    precision: str
    threads: int
    seed: int


class Step(NamedTuple):
    """What a step of a training did."""

    step: int  # done
    steps: int  # planned
    loss: float  # of the batch, before the update
    learning_rate: float
    norm: float  # of the gradient
    seconds: float  # of all steps so far


def _values(structure: ctypes.Structure) -> List[Any]:
    """The members of a structure; texts as str."""
    found = [getattr(structure, field[0]) for field in structure._fields_]
    return [value.decode() if isinstance(value, bytes) else value for value in found]


class Tokenizer(_Object):
    """The characters that a model knows, and their ids: all characters of `text`, or with None the
    256 values of bytes."""

    _kind, _release = _Tokenizer, "tokenizer_free"

    def __init__(self, text: Optional[Text]) -> None:
        if text is None:
            _call("tokenizer_of_bytes", self._own())
        else:
            given = _bytes_of(text)
            _call("tokenizer_make", self._own(), given, len(given))

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Tokenizer":
        """The tokenizer of a model: a file of tril, or a folder of Hugging Face transformers."""
        tokenizer = cls.__new__(cls)
        _call("tokenizer_load", tokenizer._own(), _path(path))
        return tokenizer

    def __len__(self) -> int:
        return _call("tokenizer_size", self)

    def encode(self, text: Text) -> List[int]:
        """The ids of a text. Error: a character that the tokenizer does not know."""
        given = _bytes_of(text)
        ids = (ctypes.c_int32 * len(given))()
        count = ctypes.c_ssize_t()
        _call("encode", self, given, len(given), ids, len(given), ctypes.byref(count))
        return ids[:count.value]

    def decode(self, ids: Any) -> str:
        """The text of a sequence of ids."""
        given = [_checked(ctypes.c_int32, i, "an id") for i in ids]
        capacity = 4 * len(given)
        text = ctypes.create_string_buffer(capacity + 1)
        length = ctypes.c_ssize_t()
        _call("decode", self, (ctypes.c_int32 * len(given))(*given), len(given), text, capacity,
              ctypes.byref(length))
        return text.raw[:length.value].decode("utf-8", "replace")


class Model(_Object):
    """A tokenizer and weights. A new one has random weights, which follow from the seed."""

    _kind, _release = _Model, "model_free"

    def __init__(self, tokenizer: Tokenizer, rung: Optional[str] = None, *,
                 layers: Optional[int] = None, heads: Optional[int] = None,
                 width: Optional[int] = None, context: Optional[int] = None,
                 kv_heads: Optional[int] = None, hidden: Optional[int] = None,
                 seed: Optional[int] = None) -> None:
        sizes = _fill(_lib.tril_sizes(),
                      {"rung": rung, "layers": layers, "heads": heads, "width": width,
                       "context": context, "kv_heads": kv_heads, "hidden": hidden})
        seed = _lib.tril_options().seed if seed is None else seed
        _call("model_make", self._own(), tokenizer, ctypes.byref(sizes), seed)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Model":
        """Reads a model: a file of tril, or a folder of Hugging Face transformers."""
        model = cls.__new__(cls)
        _call("model_load", model._own(), _path(path))
        return model

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model as one file, which `./sample` reads."""
        _call("model_save", self, _path(path))

    def extended(self, text: Text, *, seed: Optional[int] = None) -> "Model":
        """A model that also knows all characters of a text, as `./train --init` makes it. This one
        stays as it is."""
        given, model = _bytes_of(text), Model.__new__(Model)
        seed = _lib.tril_options().seed if seed is None else seed
        _call("model_extend", model._own(), self, given, len(given), seed)
        return model

    @property
    def sizes(self) -> Sizes:
        return Sizes(*_values(_call("model_sizes", self)))

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return _call("model_parameters", self)

    @property
    def digest(self) -> str:
        """A digest of the weights: equal digests mean equal bits."""
        return f"{_call('model_digest', self):016x}"

    @property
    def tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.__new__(Tokenizer)
        tokenizer._handle = _Tokenizer(_call("model_tokenizer", self))
        tokenizer._model = self  # type: ignore[attr-defined]  # it belongs to the model
        return tokenizer

    @property
    def weights(self) -> Dict[str, Any]:
        """The tensors by name, without copies: what is written into them, the model uses."""
        tensors: Dict[str, Any] = {}
        tensor = _Tensor()
        while _call("model_tensor", self, len(tensors), ctypes.byref(tensor)):
            shape = [tensor.rows, tensor.columns][:tensor.rank]
            tensors[tensor.name.decode()] = _numbers(tensor.data, shape, self)
        return tensors

    def generate(self, prompt: Text = "", *, length: Optional[int] = None,
                 temperature: Optional[float] = None, top_k: Optional[int] = None,
                 top_p: Optional[float] = None, seed: Optional[int] = None,
                 precision: Optional[str] = None, threads: Optional[int] = None,
                 on_text: Optional[Callable[[str], Any]] = None) -> str:
        """Continues a prompt, and returns what it wrote. `on_text` gets each new character; if it
        returns False, the text ends. Options as those of `./sample`."""
        given = _bytes_of(prompt)
        sampling = _fill(_lib.tril_sampling(),
                         {"length": length, "temperature": temperature, "top_k": top_k,
                          "top_p": top_p, "seed": seed, "precision": precision, "threads": threads})
        writer, decoder = _Writing(self, sampling), codecs.getincrementaldecoder("utf-8")("replace")
        _call("writer_read", writer, given, len(given))
        character, written = ctypes.create_string_buffer(4), []
        for _ in range(sampling.length):
            size = _call("writer_write", writer, character)
            written.append(decoder.decode(character.raw[:size]))
            if on_text and written[-1] and on_text(written[-1]) is False:
                break
        return "".join(written)

    def evaluate(self, text: Text, *, threads: int = 0) -> float:
        """The mean loss on a text, as `./sample --score` measures it."""
        given, nats = _bytes_of(text), ctypes.c_double()
        _call("evaluate", self, given, len(given), threads, ctypes.byref(nats))
        return nats.value

    def read(self, text: Text, *, threads: int = 0, trace: bool = False) -> "Reading":
        """Reads a text; of one longer than the context only the end. With `trace` all that is
        computed is kept, for Reading.lines."""
        return Reading(self, text, threads=threads, trace=trace)


class _Writing(_Object):
    """A text that a model writes."""

    _kind, _release = _Writer, "writer_close"

    def __init__(self, model: Model, sampling: _Sampling) -> None:
        _call("writer_open", self._own(model), model, ctypes.byref(sampling))


class Reading(_Object):
    """A text that a model has read: what it predicts, what its heads attend to, and what it
    computes. Row t of all arrays belongs to character t of those read."""

    _kind, _release = _Reading, "reading_close"

    def __init__(self, model: Model, text: Text, *, threads: int = 0, trace: bool = False) -> None:
        given = _bytes_of(text)
        self.model = model
        _call("reading_trace" if trace else "reading_open", self._own(model), model, given, len(given),
              threads)
        layers, heads = ctypes.c_int(), ctypes.c_int()
        _call("reading_heads", self, ctypes.byref(layers), ctypes.byref(heads))
        self.layers, self.heads = layers.value, heads.value

    def __len__(self) -> int:
        """The number of characters read, T."""
        return _call("reading_tokens", self)

    @property
    def skipped(self) -> int:
        """The characters of the text before those read."""
        return _call("reading_skipped", self)

    @property
    def logits(self) -> Any:
        """[T, V], without a copy: row t predicts the character after t."""
        shape = [len(self), len(self.model.tokenizer)]
        return _numbers(_call("reading_logits", self), shape, self)

    @property
    def loss(self) -> float:
        """The mean loss on the characters but the first; NaN of a single one."""
        return _call("reading_loss", self)

    def attention(self, layer: int, head: int) -> Any:
        """[T, T]: how much each character attends to each other. Each row sums to 1."""
        return self._map("reading_attention", layer, head)

    def scores(self, layer: int, head: int) -> Any:
        """[T, T]: each query times each key, before scaling, mask and softmax."""
        return self._map("reading_scores", layer, head)

    def _map(self, name: str, layer: int, head: int) -> Any:
        T = len(self)
        numbers = (ctypes.c_float * (T * T))()
        _call(name, self, layer, head, numbers, T * T)
        return _numbers(ctypes.addressof(numbers), [T, T], numbers)

    def lines(self) -> List[Line]:
        """All that was computed, line by line, from the ids to the logits; none without `trace`.
        Without NumPy the arrays are copies."""
        lines: List[Line] = []
        line = _Line()
        while _call("reading_line", self, len(lines), ctypes.byref(line)):
            inputs = [_columns(array, len(self), self) for array in line.inputs if array.number]
            weights = [tensor.name.decode() for tensor in line.weights if tensor.name]
            lines.append(Line(line.operation.decode(), line.layer, line.heads, inputs,
                              _columns(line.output, len(self), self), weights))
        return lines


class Training(_Object):
    """A training of a model on a text, step by step."""

    _kind, _release = _Training, "training_close"

    def __init__(self, model: Model, text: Text, *, steps: Optional[int] = None,
                 epochs: Optional[float] = None, batch: Optional[int] = None,
                 dropout: Optional[float] = None, learning_rate: Optional[float] = None,
                 weight_decay: Optional[float] = None, embedding_decay: Optional[float] = None,
                 windows: Optional[str] = None, held_out: Optional[float] = None,
                 teacher: Optional[Model] = None, precision: Optional[str] = None,
                 threads: Optional[int] = None, seed: Optional[int] = None) -> None:
        given = _bytes_of(text)
        options = _fill(_lib.tril_options(),
                        {"steps": steps, "epochs": epochs, "batch": batch, "dropout": dropout,
                         "learning_rate": learning_rate, "weight_decay": weight_decay,
                         "embedding_decay": embedding_decay, "windows": windows,
                         "held_out": held_out,
                         "teacher": teacher, "precision": precision, "threads": threads, "seed": seed})
        self.model = model
        _call("training_open", self._own(model, teacher), model, given, len(given),
              ctypes.byref(options))

    @classmethod
    def resume(cls, path: Union[str, "os.PathLike[str]"], text: Text, *,
               threads: int = 0) -> "Training":
        """Continues a training from its state (`save`) on the same text. It has a model of its
        own."""
        given = _bytes_of(text)
        training, model = cls.__new__(cls), Model.__new__(Model)
        training.model, its_model = model, model._own()
        _call("training_resume", training._own(model), its_model, _path(path), given, len(given), threads)
        return training

    def close(self) -> None:
        """Ends the training and releases its memory; the model stays. Nothing else may be called
        afterwards."""
        self._close()

    def __enter__(self) -> "Training":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def options(self) -> Options:
        """The options as they were decided."""
        decided = _call("training_options", self)
        names = [field[0] for field in _Options._fields_]
        values = dict(zip(names, _values(decided)))
        return Options(**{name: values[name] for name in Options._fields})

    @property
    def done(self) -> int:
        """The number of steps that are done."""
        return _call("training_done", self)

    def step(self) -> Step:
        """Takes a step. Error: all are taken; a loss that is no longer a number."""
        step = _Step()
        _call("training_step", self, ctypes.byref(step))
        return Step(*_values(step))

    def run(self, on_step: Optional[Callable[[Step], Any]] = None, *,
            progress: Optional[bool] = None) -> bool:
        """Takes all steps that are left. `on_step` is called after each; if it returns False, the
        training stops, and can go on with another call, as after Ctrl-C. `progress` shows a bar, if
        tqdm is there; None: in notebooks only. Returns whether all steps are done."""
        bar = _progress_bar(self.options.steps, self.done, progress)
        told = self.done

        def tell(now: Step) -> Any:
            nonlocal told
            told = now.step
            answer = on_step(now) if on_step else None
            if bar is not None:
                bar.update(1)
                bar.set_postfix(loss=f"{now.loss:.3f}", refresh=False)
            return answer

        step = _Step()
        try:
            while self.done < _call("training_options", self).steps:
                _call("training_step", self, ctypes.byref(step))
                if tell(Step(*_values(step))) is False:
                    break
        except KeyboardInterrupt:  # it comes at the end of a step, which is done
            if step.step > told:
                tell(Step(*_values(step)))
            raise
        finally:
            if bar is not None:
                bar.close()
        return self.done == _call("training_options", self).steps

    def set_steps(self, steps: int) -> None:
        """Plans another number of steps, which the learning rates follow."""
        _call("training_set_steps", self, steps)

    def evaluate(self, characters: Optional[int] = None) -> float:
        """The mean loss over the whole held-out text; or, of a longer one, over evenly spaced
        windows with about so many characters, which is sooner."""
        nats = ctypes.c_double()
        if characters is None:
            _call("training_evaluate", self, ctypes.byref(nats))
        else:
            _call("training_estimate", self, characters, ctypes.byref(nats))
        return nats.value

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the state, which `Training.resume` and `./train --resume` continue."""
        _call("training_save", self, _path(path))


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython  # type: ignore[import-not-found]
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _progress_bar(steps: int, done: int, wanted: Optional[bool]) -> Any:
    if wanted is False or (wanted is None and not _in_notebook()):
        return None
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return None
    return tqdm(total=steps, initial=done, unit="step")


def train(text: Text, rung: Optional[str] = None, *, steps: Optional[int] = None,
          on_step: Optional[Callable[[Step], Any]] = None, progress: Optional[bool] = None,
          layers: Optional[int] = None, heads: Optional[int] = None, width: Optional[int] = None,
          context: Optional[int] = None, kv_heads: Optional[int] = None,
          hidden: Optional[int] = None, epochs: Optional[float] = None,
          batch: Optional[int] = None, dropout: Optional[float] = None,
          learning_rate: Optional[float] = None, weight_decay: Optional[float] = None,
          embedding_decay: Optional[float] = None, windows: Optional[str] = None,
          held_out: Optional[float] = None, teacher: Optional[Model] = None,
          precision: Optional[str] = None, threads: Optional[int] = None,
          seed: Optional[int] = None, as_bytes: bool = False) -> Model:
    """Makes a model of a rung, and trains it on a text. Half of each target is what `teacher`
    expects, if there is one: a model of the same characters. `on_step` and `progress` as those of
    Training.run; with `as_bytes` the text is any bytes. None stands for the default of `./train`.
    The KeyboardInterrupt of Ctrl-C has the model as it is then as its `model`."""
    given = _bytes_of(text)
    model = Model(Tokenizer(None if as_bytes else given), rung, layers=layers, heads=heads,
                  width=width, context=context, kv_heads=kv_heads, hidden=hidden, seed=seed)
    with Training(model, given, steps=steps, epochs=epochs, batch=batch, dropout=dropout,
                  learning_rate=learning_rate, weight_decay=weight_decay,
                  embedding_decay=embedding_decay, windows=windows, held_out=held_out,
                  teacher=teacher, precision=precision, threads=threads, seed=seed) as training:
        try:
            training.run(on_step, progress=progress)
        except KeyboardInterrupt as interrupt:
            interrupt.model = model  # type: ignore[attr-defined]
            raise
    return model
