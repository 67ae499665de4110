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
import os
import pathlib
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

try:
    import numpy
except ImportError:  # pragma: no cover - both ways are tested, each in its own environment
    numpy = None  # type: ignore[assignment]

__all__ = ["Error", "Line", "Model", "Options", "Reading", "Sizes", "Step", "Tokenizer", "Training", "rungs",
           "train", "version"]

Text = Union[str, bytes, "os.PathLike[str]"]

# ---- the library in C: library/tril.h ----

_KINDS = ["", "argument", "text", "file", "memory", "diverged", "stopped"]
_STOPPED = 6


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
                ("row", ctypes.c_size_t), ("data", ctypes.c_void_p)]


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
                ("teacher", ctypes.c_void_p), ("precision", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("seed", ctypes.c_uint64)]


class _Step(ctypes.Structure):
    _fields_ = [("step", ctypes.c_int), ("steps", ctypes.c_int), ("loss", ctypes.c_double),
                ("learning_rate", ctypes.c_double), ("norm", ctypes.c_double),
                ("seconds", ctypes.c_double)]


class _Sampling(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("temperature", ctypes.c_double),
                ("top_k", ctypes.c_int), ("top_p", ctypes.c_double), ("seed", ctypes.c_uint64),
                ("precision", ctypes.c_char_p), ("threads", ctypes.c_int)]


_OnStep = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Step), ctypes.c_void_p)
_OnText = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t,
                           ctypes.c_void_p)


def _open_library() -> ctypes.CDLL:
    """The library in the wheel; without one, that of the system."""
    own = pathlib.Path(__file__).with_name("libtril.so.0")
    lib = ctypes.CDLL(str(own) if own.exists() else own.name)
    pointer, count, text, error = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p,
                                   ctypes.POINTER(_Error))
    to_pointer, to_count = ctypes.POINTER(pointer), ctypes.POINTER(count)
    number, to_double = ctypes.c_int, ctypes.POINTER(ctypes.c_double)
    functions: Dict[str, Any] = {
        "version": (text, []),
        "rung": (text, [number]),
        "rung_idea": (text, [number]),
        "tokenizer_make": (number, [to_pointer, text, count, error]),
        "tokenizer_of_bytes": (number, [to_pointer, error]),
        "tokenizer_load": (number, [to_pointer, text, error]),
        "tokenizer_free": (None, [pointer]),
        "tokenizer_size": (number, [pointer]),
        "encode": (number, [pointer, text, count, ctypes.POINTER(ctypes.c_int32), count, to_count,
                            error]),
        "decode": (number, [pointer, ctypes.POINTER(ctypes.c_int32), count, pointer, count, to_count,
                            error]),
        "sizes": (_Sizes, []),
        "model_make": (number, [to_pointer, pointer, ctypes.POINTER(_Sizes), ctypes.c_uint64, error]),
        "model_load": (number, [to_pointer, text, error]),
        "model_save": (number, [pointer, text, error]),
        "model_extend": (number, [to_pointer, pointer, text, count, ctypes.c_uint64, error]),
        "model_free": (None, [pointer]),
        "model_tokenizer": (pointer, [pointer]),
        "model_sizes": (_Sizes, [pointer]),
        "model_parameters": (count, [pointer]),
        "model_digest": (ctypes.c_uint64, [pointer]),
        "model_tensor": (number, [pointer, number, ctypes.POINTER(_Tensor)]),
        "options": (_Options, []),
        "training_open": (number, [to_pointer, pointer, text, count, ctypes.POINTER(_Options),
                                   error]),
        "training_close": (None, [pointer]),
        "training_options": (_Options, [pointer]),
        "training_done": (number, [pointer]),
        "training_step": (number, [pointer, ctypes.POINTER(_Step), error]),
        "training_run": (number, [pointer, _OnStep, pointer, error]),
        "training_evaluate": (number, [pointer, to_double, error]),
        "training_estimate": (number, [pointer, count, to_double, error]),
        "training_set_steps": (number, [pointer, number, error]),
        "training_save": (number, [pointer, text, error]),
        "training_resume": (number, [to_pointer, to_pointer, text, text, count, number, error]),
        "evaluate": (number, [pointer, text, count, number, to_double, error]),
        "reading_open": (number, [to_pointer, pointer, text, count, number, error]),
        "reading_trace": (number, [to_pointer, pointer, text, count, number, error]),
        "reading_close": (None, [pointer]),
        "reading_tokens": (number, [pointer]),
        "reading_skipped": (count, [pointer]),
        "reading_logits": (pointer, [pointer]),
        "reading_loss": (ctypes.c_double, [pointer]),
        "reading_heads": (None, [pointer, ctypes.POINTER(number), ctypes.POINTER(number)]),
        "reading_attention": (number, [pointer, number, number, pointer, count, error]),
        "reading_scores": (number, [pointer, number, number, pointer, count, error]),
        "reading_line": (number, [pointer, number, ctypes.POINTER(_Line)]),
        "sampling": (_Sampling, []),
        "generate": (number, [pointer, text, count, ctypes.POINTER(_Sampling), _OnText, pointer,
                              error]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(lib, "tril_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib = _open_library()


class Error(Exception):
    """What the library refuses: one sentence. `kind` is "argument", "text", "file", "memory" or
    "diverged"."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def _call(name: str, *arguments: Any) -> int:
    """Calls a function that returns a status, and raises what it refuses."""
    error = _Error()
    status: int = getattr(_lib, "tril_" + name)(*arguments, ctypes.byref(error))
    if status not in (0, _STOPPED):
        raise Error(error.text.decode("utf-8", "replace"), _KINDS[status])
    return status


def _made(name: str, *arguments: Any) -> ctypes.c_void_p:
    """The object that a function makes."""
    handle = ctypes.c_void_p()
    _call(name, ctypes.byref(handle), *arguments)
    return handle


def _bytes_of(text: Text) -> bytes:
    if isinstance(text, bytes):
        return text
    return text.encode() if isinstance(text, str) else pathlib.Path(text).read_bytes()


def _path(path: Union[str, "os.PathLike[str]"]) -> bytes:
    return os.fsencode(path)


def _fill(structure: Any, values: Dict[str, Any]) -> Any:
    """Sets the members that are not None. Refused: a number for a name, which the library would
    take for an address, and a name for a number."""
    types = dict(structure._fields_)
    for name, value in values.items():
        is_name = types[name] is ctypes.c_char_p
        if value is None:
            continue
        if isinstance(value, str) != is_name:
            raise TypeError(f"{name} is a {'name' if is_name else 'number'}, not {value!r}")
        setattr(structure, name, value.encode() if is_name else value)
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


def _release_with(owner: Any, release: Callable[[Any], None], handle: Any, borrowed: Any) -> Any:
    """Releases `handle` when its owner goes; what it borrows stays until then."""
    return weakref.finalize(owner, lambda handle, borrowed: release(handle), handle, borrowed)


class _Callback:
    """A function of Python as a callback: what it raises stops the call, and is raised after it."""

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None

    def guard(self, call: Callable[[], Any]) -> int:
        try:
            return 1 if call() is False else 0
        except BaseException as raised:  # KeyboardInterrupt, too
            self.raised = raised
            return 1

    def finish(self) -> None:
        if self.raised is not None:
            raise self.raised


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


class Tokenizer:
    """The characters that a model knows, and their ids: all characters of `text`, or with None the
    256 values of bytes."""

    def __init__(self, text: Optional[Text]) -> None:
        if text is None:
            handle = _made("tokenizer_of_bytes")
        else:
            given = _bytes_of(text)
            handle = _made("tokenizer_make", given, len(given))
        self._own(handle)

    def _own(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        weakref.finalize(self, _lib.tril_tokenizer_free, handle)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Tokenizer":
        """The tokenizer of a model: a file of tril, or a folder of Hugging Face transformers."""
        tokenizer = cls.__new__(cls)
        tokenizer._own(_made("tokenizer_load", _path(path)))
        return tokenizer

    def __len__(self) -> int:
        return _lib.tril_tokenizer_size(self._handle)

    def encode(self, text: Text) -> List[int]:
        """The ids of a text. Refused: a character that the tokenizer does not know."""
        given = _bytes_of(text)
        ids = (ctypes.c_int32 * len(given))()
        count = ctypes.c_size_t()
        _call("encode", self._handle, given, len(given), ids, len(given), ctypes.byref(count))
        return ids[:count.value]

    def decode(self, ids: Any) -> str:
        """The text of a sequence of ids."""
        given = (ctypes.c_int32 * len(ids))(*(int(i) for i in ids))
        capacity = 4 * len(ids)
        text = ctypes.create_string_buffer(capacity + 1)
        length = ctypes.c_size_t()
        _call("decode", self._handle, given, len(ids), text, capacity, ctypes.byref(length))
        return text.raw[:length.value].decode("utf-8", "replace")


class Model:
    """A tokenizer and weights. A new one has random weights, which follow from the seed."""

    def __init__(self, tokenizer: Tokenizer, rung: Optional[str] = None, *,
                 layers: Optional[int] = None, heads: Optional[int] = None,
                 width: Optional[int] = None, context: Optional[int] = None,
                 kv_heads: Optional[int] = None, hidden: Optional[int] = None,
                 seed: Optional[int] = None) -> None:
        sizes = _fill(_lib.tril_sizes(),
                      {"rung": rung, "layers": layers, "heads": heads, "width": width,
                       "context": context, "kv_heads": kv_heads, "hidden": hidden})
        seed = _lib.tril_options().seed if seed is None else seed
        self._own(_made("model_make", tokenizer._handle, ctypes.byref(sizes), seed))

    def _own(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        weakref.finalize(self, _lib.tril_model_free, handle)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Model":
        """Reads a model: a file of tril, or a folder of Hugging Face transformers."""
        model = cls.__new__(cls)
        model._own(_made("model_load", _path(path)))
        return model

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model as one file, which `./sample` reads."""
        _call("model_save", self._handle, _path(path))

    def extended(self, text: Text, *, seed: Optional[int] = None) -> "Model":
        """A model that also knows all characters of a text, as `./train --init` makes it. This one
        stays as it is."""
        given, model = _bytes_of(text), Model.__new__(Model)
        seed = _lib.tril_options().seed if seed is None else seed
        model._own(_made("model_extend", self._handle, given, len(given), seed))
        return model

    @property
    def sizes(self) -> Sizes:
        return Sizes(*_values(_lib.tril_model_sizes(self._handle)))

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return _lib.tril_model_parameters(self._handle)

    @property
    def digest(self) -> str:
        """A digest of the weights: equal digests mean equal bits."""
        return f"{_lib.tril_model_digest(self._handle):016x}"

    @property
    def tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.__new__(Tokenizer)
        tokenizer._handle = ctypes.c_void_p(_lib.tril_model_tokenizer(self._handle))
        tokenizer._model = self  # type: ignore[attr-defined]  # it belongs to the model
        return tokenizer

    @property
    def weights(self) -> Dict[str, Any]:
        """The tensors by name, without copies: what is written into them, the model uses."""
        tensors: Dict[str, Any] = {}
        tensor = _Tensor()
        while _lib.tril_model_tensor(self._handle, len(tensors), ctypes.byref(tensor)):
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
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        written: List[str] = []
        callback = _Callback()

        def take(text: Any, size: int, _: Any) -> int:
            piece = decoder.decode(ctypes.string_at(text, size))
            written.append(piece)
            return callback.guard(lambda: on_text(piece) if on_text and piece else None)

        _call("generate", self._handle, given, len(given), ctypes.byref(sampling), _OnText(take), None)
        callback.finish()
        return "".join(written)

    def evaluate(self, text: Text, *, threads: int = 0) -> float:
        """The mean loss on a text, as `./sample --score` measures it."""
        given, nats = _bytes_of(text), ctypes.c_double()
        _call("evaluate", self._handle, given, len(given), threads, ctypes.byref(nats))
        return nats.value

    def read(self, text: Text, *, threads: int = 0, trace: bool = False) -> "Reading":
        """Reads a text; of one longer than the context only the end. With `trace` all that is
        computed is kept, for Reading.lines."""
        return Reading(self, text, threads=threads, trace=trace)


class Reading:
    """A text that a model has read: what it predicts, what its heads attend to, and what it
    computes. Row t of all arrays belongs to character t of those read."""

    def __init__(self, model: Model, text: Text, *, threads: int = 0, trace: bool = False) -> None:
        given = _bytes_of(text)
        self.model = model
        self._handle = _made("reading_trace" if trace else "reading_open", model._handle, given,
                             len(given), threads)
        _release_with(self, _lib.tril_reading_close, self._handle, model)
        layers, heads = ctypes.c_int(), ctypes.c_int()
        _lib.tril_reading_heads(self._handle, ctypes.byref(layers), ctypes.byref(heads))
        self.layers, self.heads = layers.value, heads.value

    def __len__(self) -> int:
        """The number of characters read, T."""
        return _lib.tril_reading_tokens(self._handle)

    @property
    def skipped(self) -> int:
        """The characters of the text before those read."""
        return _lib.tril_reading_skipped(self._handle)

    @property
    def logits(self) -> Any:
        """[T, V], without a copy: row t predicts the character after t."""
        shape = [len(self), len(self.model.tokenizer)]
        return _numbers(_lib.tril_reading_logits(self._handle), shape, self)

    @property
    def loss(self) -> float:
        """The mean loss on the characters but the first; NaN of a single one."""
        return _lib.tril_reading_loss(self._handle)

    def attention(self, layer: int, head: int) -> Any:
        """[T, T]: how much each character attends to each other. Each row sums to 1."""
        return self._map("reading_attention", layer, head)

    def scores(self, layer: int, head: int) -> Any:
        """[T, T]: each query times each key, before scaling, mask and softmax."""
        return self._map("reading_scores", layer, head)

    def _map(self, name: str, layer: int, head: int) -> Any:
        T = len(self)
        numbers = (ctypes.c_float * (T * T))()
        _call(name, self._handle, layer, head, numbers, T * T)
        return _numbers(ctypes.addressof(numbers), [T, T], numbers)

    def lines(self) -> List[Line]:
        """All that was computed, line by line, from the ids to the logits; none without `trace`.
        Without NumPy the arrays are copies."""
        lines: List[Line] = []
        line = _Line()
        while _lib.tril_reading_line(self._handle, len(lines), ctypes.byref(line)):
            inputs = [_columns(array, len(self), self) for array in line.inputs if array.number]
            weights = [tensor.name.decode() for tensor in line.weights if tensor.name]
            lines.append(Line(line.operation.decode(), line.layer, line.heads, inputs,
                              _columns(line.output, len(self), self), weights))
        return lines


class Training:
    """A training of a model on a text, step by step."""

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
                         "teacher": None if teacher is None else teacher._handle,
                         "precision": precision, "threads": threads, "seed": seed})
        self._own(model, _made("training_open", model._handle, given, len(given),
                               ctypes.byref(options)), teacher)

    def _own(self, model: Model, handle: ctypes.c_void_p, teacher: Optional[Model] = None) -> None:
        self.model = model
        self._handle = handle
        self._close = _release_with(self, _lib.tril_training_close, handle, (model, teacher))

    @classmethod
    def resume(cls, path: Union[str, "os.PathLike[str]"], text: Text, *,
               threads: int = 0) -> "Training":
        """Continues a training from its state (`save`) on the same text. It has a model of its
        own."""
        given = _bytes_of(text)
        training, model = cls.__new__(cls), Model.__new__(Model)
        model_handle = ctypes.c_void_p()
        handle = _made("training_resume", ctypes.byref(model_handle), _path(path), given, len(given),
                       threads)
        model._own(model_handle)
        training._own(model, handle)
        return training

    def close(self) -> None:
        """Ends the training and releases its memory; the model stays. Nothing else may be called
        afterwards."""
        self._close()

    def __enter__(self) -> "Training":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _open(self) -> ctypes.c_void_p:
        if not self._close.alive:
            raise Error("the training is closed", "argument")
        return self._handle

    @property
    def options(self) -> Options:
        """The options as they were decided."""
        decided = _lib.tril_training_options(self._open())
        names = [field[0] for field in _Options._fields_]
        values = dict(zip(names, _values(decided)))
        return Options(**{name: values[name] for name in Options._fields})

    @property
    def done(self) -> int:
        """The number of steps that are done."""
        return _lib.tril_training_done(self._open())

    def step(self) -> Step:
        """Takes a step. Refused: all are taken; a loss that is no longer a number."""
        step = _Step()
        _call("training_step", self._open(), ctypes.byref(step))
        return Step(*_values(step))

    def run(self, on_step: Optional[Callable[[Step], Any]] = None, *,
            progress: Optional[bool] = None) -> bool:
        """Takes all steps that are left. `on_step` is called after each; if it returns False, the
        training stops, and can go on with another call. `progress` shows a bar, if tqdm is there;
        None: in notebooks only. Returns whether all steps are done."""
        bar = _progress_bar(self.options.steps, self.done, progress)
        callback = _Callback()

        def take(step: Any, _: Any) -> int:
            now = Step(*_values(step.contents))
            if bar is not None:
                bar.update(1)
                bar.set_postfix(loss=f"{now.loss:.3f}", refresh=False)
            return callback.guard(lambda: on_step(now) if on_step else None)

        try:
            status = _call("training_run", self._open(), _OnStep(take), None)
        finally:
            if bar is not None:
                bar.close()
        callback.finish()
        return status == 0

    def set_steps(self, steps: int) -> None:
        """Plans another number of steps, which the learning rates follow."""
        _call("training_set_steps", self._open(), steps)

    def evaluate(self, characters: Optional[int] = None) -> float:
        """The mean loss over the whole held-out text; or, of a longer one, over evenly spaced
        windows with about so many characters, which is sooner."""
        nats = ctypes.c_double()
        if characters is None:
            _call("training_evaluate", self._open(), ctypes.byref(nats))
        else:
            _call("training_estimate", self._open(), characters, ctypes.byref(nats))
        return nats.value

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the state, which `Training.resume` and `./train --resume` continue."""
        _call("training_save", self._open(), _path(path))


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
    Training.run; with `as_bytes` the text is any bytes. None stands for the default of `./train`."""
    given = _bytes_of(text)
    model = Model(Tokenizer(None if as_bytes else given), rung, layers=layers, heads=heads,
                  width=width, context=context, kv_heads=kv_heads, hidden=hidden, seed=seed)
    with Training(model, given, steps=steps, epochs=epochs, batch=batch, dropout=dropout,
                  learning_rate=learning_rate, weight_decay=weight_decay,
                  embedding_decay=embedding_decay, windows=windows, held_out=held_out,
                  teacher=teacher, precision=precision, threads=threads, seed=seed) as training:
        training.run(on_step, progress=progress)
    return model
