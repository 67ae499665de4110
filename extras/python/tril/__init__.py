"""tril: character-level GPTs, trained on the CPU.

    import pathlib, tril

    with tril.train(pathlib.Path("play.txt"), rung="ngram", time=20) as model:
        print(model.generate("ROMEO:", length=200))
        model.save("play.safetensors")

A model is a rung of tril's ladder: tril.rungs() names them. Losses are in nats per character, times in
seconds. A text is a str, bytes (or an array of uint8), or the pathlib.Path of its file. All defaults are
those of the programs `./train` and `./sample`: the same options give the same bits. help(tril.train)
lists the options. `with` releases an object at its end; without it, that happens when nothing refers to it.

NumPy is not needed. With it, ids are arrays of int32, and weights, logits and maps of attention are
arrays of float32 that share the memory of the library; without it, lists, and memoryviews of the same
shape. T is the number of characters read, V the size of the vocabulary.
"""

from __future__ import annotations

import _thread
import codecs
import collections
import ctypes
import difflib
import functools
import inspect
import itertools
import math
import operator
import os
import pathlib
import re
import sys
import time as clock
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union, cast

try:
    import numpy
except ImportError:  # pragma: no cover - both ways are tested, each in its own environment
    numpy = None  # type: ignore[assignment]

__all__ = ["Error", "Line", "Model", "Options", "Reading", "Score", "Sizes", "Step", "Tokenizer", "Training",
           "presets", "rungs", "train", "version"]

Path = Union[str, "os.PathLike[str]"]
Text = Union[str, bytes, bytearray, memoryview, "os.PathLike[str]", "numpy.ndarray[Any, Any]"]
Texts = Union[Text, Sequence[Text]]
_Self = TypeVar("_Self", bound="_Object")
_Function = TypeVar("_Function", bound=Callable[..., Any])

# ---- the library in C, as its header declares it: the wheel has both ----

_Int, _Double, _Name, _Address = ctypes.c_int, ctypes.c_double, ctypes.c_char_p, ctypes.c_void_p
_Size, _Seed = ctypes.c_ssize_t, ctypes.c_uint64  # c_size_t would be the same type as c_uint64
_RANGES = {_Int: (-1 << 31, (1 << 31) - 1), _Size: (0, sys.maxsize), _Seed: (0, (1 << 64) - 1)}


class _Handle(ctypes.c_void_p):
    """An object of the library. Each kind has a class of its own, so that they cannot be confused."""


class _Library:
    """The types and functions of tril.h, as attributes of the same names."""

    def __init__(self) -> None:
        here = pathlib.Path(__file__).parent
        names = "libtril.so.0", "libtril.dylib", "tril.dll"
        own = [str(here / name) for name in names if (here / name).exists()]
        self.dll = library = ctypes.CDLL((own or names)[0])
        header = re.sub(r"/\*.*?\*/|\bconst\b *", "", (here / "tril.h").read_text(encoding="utf-8"), flags=re.S)
        self._types: Dict[str, Any] = {
            "void": None, "bool": ctypes.c_bool, "char": ctypes.c_char, "float": ctypes.c_float, "double": _Double,
            "int": _Int, "int32_t": _Int, "uint32_t": ctypes.c_uint32, "size_t": _Size, "uint64_t": _Seed}
        self._lengths = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", header)}
        self._types.update({name: type(name, (_Handle,), {}) for name in re.findall(r"typedef struct (\w+) ", header)})
        self.enums = {name: re.findall(r"tril_(\w+)", body.lower())
                      for body, name in re.findall(r"typedef enum \{([^}]*)\} (\w+);", header)}
        self._types.update({name: _Int for name in self.enums})
        self._types.update({name: _Address for name in re.findall(r"typedef int \(\*(\w+)\)", header)})
        self.records: Dict[str, Any] = {}  # what the header declares of an object
        for tag, body, name in re.findall(r"typedef struct (\w*) ?\{([^}]*)\} (\w+);", header):
            members = [member for line in body.split(";") for member in self._declared(line)]
            (self.records if tag else self._types)[name] = type(name, (ctypes.Structure,), {"_fields_": members})
        for result, arguments in re.findall(r"^([\w *]*\btril_\w+)\(([^)]*)\);", header, re.M):
            [(name, kind)] = self._declared(result)
            function = getattr(library, name)
            function.restype = kind
            declared = [one for part in arguments.split(",") for one in self._declared(part, True)]
            function.names, function.argtypes = [one for one, _ in declared], [kind for _, kind in declared]
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        return self._types[name]

    def _declared(self, line: str, argument: bool = False) -> List[Any]:
        """The names in a declaration and their types: "float *x", "int rows, columns", "char text[4]"."""
        base, rest = re.fullmatch(r"\s*(\w*)(.*)", line, re.S).groups()  # type: ignore[union-attr]
        found = []
        for stars, name, length in re.findall(r"([*\s]*)(\w+)(?:\[(\w+)\])?", rest):
            kind, depth = self._types[base], stars.count("*") + (argument and length != "")
            if depth == 0:
                kind = self.records.get(base, kind)
            if depth == 1 and base == "char":
                kind = _Name
            elif depth > 1 or (depth == 1 and base in ("void", "float")):
                kind = _Address
            elif depth == 1 and not issubclass(kind, _Handle):
                kind = ctypes.POINTER(kind)
            if length and not argument:
                kind = kind * (self._lengths.get(length) or int(length))
            found.append((name, kind))
        return found


_lib = _Library()


# ---- the options: each has a row in the library's table, tril_option ----


def _rows() -> Dict[str, Any]:
    """The rows by the names of their members."""
    members = {getattr(_lib.TrilOptions, name).offset: name for name, _ in _lib.TrilOptions._fields_}
    rows: Dict[str, Any] = {}
    while _lib.tril_option(len(rows)):
        row = _lib.tril_option(len(rows)).contents
        rows[members[row.member]] = row
    return rows


_NUMBERS = {name: number for number, name in enumerate(_rows())}
_ROWS = dict(sorted(_rows().items(), key=lambda item: item[1].member))
_WHOLE = [name for name, row in _ROWS.items() if _lib.enums["TrilKind"][row.kind] == "whole"] + ["hidden"]
_SIZES = [name for name, row in _ROWS.items() if _lib.enums["TrilOnResume"][row.on_resume] == "model"]
_TRAINING = [name for name in _ROWS if name not in _SIZES and name not in  # of ./train alone
             ("time", "eval_every", "patience", "bytes")]
_RESUMED = [name for name in _TRAINING if _lib.enums["TrilOnResume"][_ROWS[name].on_resume] != "fixed"]
_SHORT = {_ROWS[name].name.decode(): name for name in ("rung", "learning_rate", "held_out")}  # those of ./train
Sizes: Any = collections.namedtuple("Sizes", _SIZES + ["hidden"])  # type: ignore[misc]
Sizes.__doc__ = "The sizes of a model. If None, kv_heads equals heads, and hidden (inside the MLP) is the rung's own."
Options: Any = collections.namedtuple("Options", _SIZES + _TRAINING)  # type: ignore[misc]
Options.__doc__ = "The decided options of a training run. None stands for the rung's own value."


def _takes(*names: str, resumed: bool = False) -> Callable[[_Function], _Function]:
    """Says in a function's signature and its documentation which **options it takes, and what None stands for. The
    defaults are those of a new training run, not of a resumed one."""
    unset = "its former value, except that threads are one per processor" if resumed else "the default of `./train`"

    def told(row: Any) -> str:
        help, standard = row.help.decode().replace("--", ""), row.standard
        return help.split("; default:")[0] if resumed else f"{help} ({standard.decode()})" if standard else help

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        setattr(function, "__signature__", signature.replace(parameters=own + [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names]))
        function.__doc__ = "\n".join([inspect.getdoc(function) or "", "", f"Options; None stands for {unset}:", *(
            f"  {name}: {told(_ROWS[name])}" for name in names)])
        return function
    return decorate


# ---- values, to the library and back ----


class Error(Exception):
    """An error of the library, with one sentence. `kind` is "argument", "text", "file", "no_memory",
    "diverged", or "busy" for an object that another thread is using."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text, kind)  # which also unpickle it
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[0])


def _checked(kind: Any, value: Any, name: str, whole: bool = False) -> Any:
    """`value` as this type of C. ctypes would cut integers that do not fit, take any object of the
    library for any other, and a number for the address of a name."""
    if issubclass(kind, _Handle):
        handle = getattr(value, "_handle", value)
        if not isinstance(handle, kind):
            before = " of the module as it was before it was reloaded" if type(handle).__name__ == kind.__name__ else ""
            known, hint = kind.__name__.replace("Tril", "tril."), "; tril.Model.load reads a file" * isinstance(value, (str, os.PathLike))
            raise TypeError(f"a {known} is needed, not {type(value).__name__}{before}" + hint * (known == "tril.Model"))
        if not handle:
            raise Error(f"the {kind.__name__[4:].lower()} is closed", "argument")
        return handle
    if kind in _RANGES or whole:
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{name}: {value!r} is not an integer") from None
        least, most = _RANGES.get(kind, (number, number))
        if not least <= number <= most:
            raise OverflowError(f"{name}: {number} is not between {least} and {most}")
        return number
    if kind is _Double:
        try:
            if math.isnan(value):  # which is an unset option
                raise ValueError(f"{name}: not a number")
        except TypeError:
            raise TypeError(f"{name}: {value!r} is not a number") from None
    if kind is ctypes.c_bool and value not in (False, True):
        raise TypeError(f"{name}: {value!r} is neither True nor False")
    return value


def _call(name: str, *arguments: Any) -> Any:
    """Calls a function of the library with checked arguments, and raises its error."""
    function, error = getattr(_lib, "tril_" + name), _lib.TrilError()
    given = [_checked(*one) for one in zip(function.argtypes, arguments, function.names)]
    owners = [getattr(value, "_owner", None) for value in arguments]  # another thread may close them meanwhile
    try:
        if len(given) == len(function.argtypes):
            return function(*given)
        status = function(*given, ctypes.byref(error))
    finally:
        owners.clear()  # a notebook keeps the last exception, and with it this frame
    if status != 0:
        said, kind = error.text.decode("utf-8", "replace"), _lib.enums["TrilStatus"][status]
        files = [f"{value.path}: " for value in arguments if kind == "text" and isinstance(value, _FileText)]
        raise Error("".join(files) + said, kind)
    return status


def _fill(structure: Any, values: Dict[str, Any], known: Optional[Iterable[str]] = None) -> Any:
    """Sets the members that are not None. Fails for a name that is not in `known`; None allows all members."""
    kinds = dict(structure._fields_)
    known = set(kinds if known is None else known)
    for given, value in values.items():
        name = _SHORT.get(given, given)
        if name not in known:
            near = difflib.get_close_matches(given, known | {one for one in _SHORT if _SHORT[one] in known}, 1)
            raise TypeError(f"there is no option {given!r}" + (
                " here, only of ./train" if name in ("eval_every", "patience") else " here" if name in _ROWS
                else f"; did you mean {near[0]!r}?" if near else ""))
        if value is None:
            continue
        if given != name and values.get(name) is not None:
            raise TypeError(f"{given} and {name} are the same option; give only one")
        if name == "time" and isinstance(value, str):
            _set_time(structure, value)
            continue
        if kinds[name] is _Name:
            value = _name(given, value)
        value = _checked(kinds[name], value, given, name in _WHOLE)
        if name != "threads" or value != 0:  # 0 leaves the threads unset, as in Model.score
            setattr(structure, name, value)
    return structure


def _set_time(options: Any, text: str) -> None:
    """Sets the time limit to a text such as "5m". The library would take an empty one for no limit."""
    if not text:
        raise Error("time: '' is not a time, such as 90s, 5m or 2h", "argument")
    try:
        _call("options_set", ctypes.byref(options), b"time", _name("time", text))
    except Error as error:  # names the option as ./train does
        raise Error(str(error).replace("--time", "time", 1), error.kind) from None


def _check_effect(names: Iterable[str], options: Any) -> None:
    """Fails if one of these options, which are set, has no effect on a training run."""
    for name in names:
        _call("option_effect", _NUMBERS[name], ctypes.byref(options))


def _given(options: Dict[str, Any]) -> Dict[str, Any]:
    """Those that are not None, by the names of their members."""
    return {_SHORT.get(name, name): value for name, value in options.items() if value is not None}


def _terminated(name: bytes) -> bytes:
    if b"\0" in name:
        raise ValueError(f"a zero byte in {name!r}, where C would end it")
    return name


def _name(argument: str, value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{argument}: {value!r} is not a str")
    return _terminated(value.encode())


def _path(path: Path) -> bytes:
    return _terminated(os.fsencode(path))


class _FileText(bytes):
    """A text that was read from a file, which errors name."""

    path: str


def _bytes_of(text: Text) -> bytes:
    if isinstance(text, str) and re.search(r"[./\\]", text) and os.path.isfile(text):
        raise TypeError(f"{text!r} is the path of a file; give pathlib.Path({text!r}) for its text, or bytes for these characters")
    if isinstance(text, (str, bytes)):
        return text.encode() if isinstance(text, str) else text
    if isinstance(text, os.PathLike):
        read = _FileText(pathlib.Path(text).read_bytes())
        read.path = os.fsdecode(text)
        return read
    try:
        if memoryview(cast(bytes, text)).itemsize == 1:
            return memoryview(cast(bytes, text)).tobytes()
    except TypeError:  # has no bytes
        pass
    raise TypeError(f"a text is a str, bytes, a pathlib.Path, or an array of uint8, not {type(text).__name__}")


def _joined(texts: Texts, options: Any, held_out: Optional[Text] = None) -> bytes:
    """Several texts as ./train joins them: the end of each is held out or, if it is given, the text `held_out`, whose
    share becomes an option."""
    given = list(texts) if isinstance(texts, (list, tuple)) else [cast(Text, texts)]
    for text in [*given, held_out]:
        if isinstance(text, str) and re.fullmatch(r"[^\s]+\.\w{1,5}", text) and not os.path.exists(text):
            raise TypeError(f"{text!r} is no text to train on, and there is no such file; pathlib.Path names the file of a text")
    if held_out is None and not isinstance(texts, (list, tuple)):
        return _bytes_of(given[0])
    parts, length, share = [_bytes_of(text) for text in given], _Size(), _Double(options.held_out)
    if held_out is not None:
        parts.append(_bytes_of(held_out))
        share.value = math.nan
    joined, which = ctypes.create_string_buffer(sum(map(len, parts)) + 2 * len(parts)), _Int(-1)
    try:
        _call("text_join", (_Name * len(parts))(*parts), (_Size * len(parts))(*map(len, parts)), len(parts),
              options.bytes, ctypes.byref(share), joined, ctypes.byref(length), ctypes.byref(which))
    except Error as error:
        names = [*(f"texts[{i}]" for i in range(len(given))), "val_file"]
        name = getattr(parts[which.value], "path", names[which.value])
        raise Error(f"{name}: {error}", error.kind) if error.kind == "text" else error
    options.held_out = share.value
    return joined.raw[:length.value]


def _values(structure: Any, names: Iterable[str]) -> List[Any]:
    """The members of a structure. Names are str, and unset members None."""
    values = []
    for name in names:
        value = getattr(structure, name)
        if isinstance(value, bytes):
            value = value.decode()
        elif (name in _ROWS or name in _WHOLE) and isinstance(value, float):
            value = None if math.isnan(value) else int(value) if name in _WHOLE else value
        values.append(value)
    return values


def _numbers(address: int, shape: List[int], owner: Any, step: int = 0) -> Any:
    """The floats at an address, which live as long as `owner`: an array, or a memoryview. With `step`
    the rows begin that many floats apart, and cannot be written; without NumPy they are a copy."""
    count = (shape[0] - 1) * step + shape[1] if step else math.prod(shape)
    numbers = (ctypes.c_float * count).from_address(address)
    numbers.owner = owner  # type: ignore[attr-defined]
    if numpy is not None:
        array = numpy.ndarray(shape, numpy.float32, memoryview(numbers), strides=(4 * step, 4) if step else None)
        array.flags.writeable = step == 0
        return array
    if step:
        parts = (numbers[at:at + shape[1]] for at in range(0, count, step))
        numbers = (ctypes.c_float * math.prod(shape))(*itertools.chain.from_iterable(parts))
    view = memoryview(numbers).cast("B").cast("f", shape)
    return view.toreadonly() if step else view


_borrowed: Dict[int, List[Any]] = {}  # by the id of an owner, the owners that it needs until it is released
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_borrowed))  # for good: at Python's end, too, it is no garbage


class _Owner:
    """Held by an object and by everything made from it; the library's object is released with the last of these,
    before all that it borrows; `_borrowed` keeps those alive until then. The release runs none of Python's code, in
    which a Ctrl-C would be lost."""

    __del__ = property(operator.attrgetter("_release"))

    def __init__(self, function: Any, handle: Any, borrowed: List[Any]) -> None:
        calls = functools.partial(function, handle), functools.partial(_borrowed.pop, id(self), None)
        self._release: Any = functools.partial(collections.deque, map(functools.partial.__call__, calls), 0)
        _borrowed[id(self)] = borrowed


def _record_of(value: Any) -> Any:
    """The members of an object, or of its handle, that the header declares."""
    handle = getattr(value, "_handle", value)
    return _lib.records[type(handle).__name__].from_address(handle.value)


class _Object:
    """An object of the library, which is released with it."""

    _free: str  # the function that releases it
    _owner: Optional[_Owner] = None

    def _own(self, *borrowed: Any) -> Any:
        """A place for the handle, which the function that makes the object fills. The object is released even
        if Ctrl-C comes right after that call; whatever it borrows stays until then."""
        function = getattr(_lib, "tril_" + self._free)
        self._handle, self._process = function.argtypes[0](), os.getpid()
        self._owner = _Owner(function, self._handle, [one and one._owner for one in borrowed])
        return ctypes.byref(self._handle)

    @classmethod
    def _made(cls, function: str, *arguments: Any, borrowed: Sequence[Any] = ()) -> Any:
        """The object that a function of the library makes of these arguments."""
        made = cls.__new__(cls)
        _call(function, made._own(*borrowed), *arguments)
        return made

    @property
    def _record(self) -> Any:
        """The members that the header declares of it."""
        record = _record_of(_checked(getattr(_lib, type(self._handle).__name__), self, "an object"))
        record.owner = self._owner  # as long as its members are read
        return record

    def close(self) -> None:
        """Releases it, once nothing is left that was made from it, such as an array."""
        self._handle, self._owner = type(self._handle)(), None

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tril.{type(self).__name__}: {self._about() if self._handle else 'closed'}>"

    def _about(self) -> str:
        return "open"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a tril.{type(self).__name__} cannot be copied or pickled")


# ---- the public names ----


def version() -> str:
    """The version of the library."""
    return _lib.tril_version().decode()


def _names(function: Any) -> List[str]:
    return [name.decode() for name in iter(map(function, itertools.count()).__next__, None)]


def rungs() -> Dict[str, str]:
    """The names of the ladder's rungs, lowest first, each with the idea that it adds."""
    return dict(zip(_names(_lib.tril_rung), _names(_lib.tril_rung_idea)))


def presets() -> List[str]:
    """The names of the presets of sizes and steps."""
    return _names(_lib.tril_preset)


class Line(NamedTuple):
    """One line of what a model computes: a call of a layer."""

    operation: str  # "linear", "attention", ...: all are in library/tril.h
    title: str  # a heading
    equation: str  # in plain symbols
    layer: int  # the block of the model
    heads: int  # of attention, rotary positions, and a norm of each head; else 1
    inputs: List[Any]  # arrays [T, width]: of attention queries, keys and values
    output: Any  # an array [T, width]
    weights: List[str]  # names in Model.weights: weight and bias, or the tables of an embedding


class Step(NamedTuple):
    """One step of a training run."""

    step: int  # done
    steps: int  # planned
    loss: float  # of the batch, before the update
    learning_rate: float
    norm: float  # of the gradient
    seconds: float  # of all steps so far


class Score(NamedTuple):
    """How well a model predicts a text."""

    characters: int  # of the text
    unknown: int  # those of them that the model does not know
    nats: float  # the mean loss


class Tokenizer(_Object):
    """The characters that a model knows, and their ids from 0 to V - 1: all characters of `text`, or
    the 256 byte values if that is None. len() is V."""

    _free = "tokenizer_free"

    def __init__(self, text: Optional[Text]) -> None:
        given = None if text is None else _bytes_of(text)
        _call("tokenizer_make", self._own(), given, len(given or b""))

    def __len__(self) -> int:
        return self._record.size

    def _about(self) -> str:
        return f"{len(self)} {'bytes' if self._record.bytes else 'characters'}"

    def encode(self, text: Text) -> Any:
        """The ids [N] of a text of N characters. Fails if the tokenizer does not know a character."""
        given = _bytes_of(text)
        ids = (_Int * len(given))()
        count = _Size()
        _call("encode", self, given, len(given), ids, len(given), ctypes.byref(count))
        return ids[:count.value] if numpy is None else numpy.array(ids[:count.value], numpy.int32)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids [N]."""
        given = [_checked(_Int, i, "an id") for i in ids]
        capacity = 4 * len(given)
        text = ctypes.create_string_buffer(capacity + 1)
        length = _Size()
        _call("decode", self, (_Int * len(given))(*given), len(given), text, capacity,
              ctypes.byref(length))
        return text.raw[:length.value].decode("utf-8", "replace")


class _Weights(Dict[str, Any]):
    """The tensors of a model by name: their numbers can be written, but the model would not know of another tensor. A
    copy is an ordinary dict."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)

    def __setitem__(self, name: str, tensor: Any) -> None:
        if tensor is not self.get(name):  # which Python sets after weights[name] += numbers
            self._fails()

    def _fails(self, *_: Any, **__: Any) -> Any:
        raise TypeError("the tensors of a model cannot be replaced; weights[name][:] = numbers writes into one")


for _change in "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update":
    setattr(_Weights, _change, _Weights._fails)


class Model(_Object):
    """A tokenizer and weights. A new one has random weights, which follow from the seed."""

    _free = "model_free"

    @_takes(*_SIZES[1:], "seed")
    def __init__(self, tokenizer: Tokenizer, rung: Optional[str] = None, **sizes: Any) -> None:
        known = _SIZES + ["hidden", "seed"]  # hidden: for models that other programs made
        options = _fill(_lib.tril_options(), {"rung": rung, **sizes}, known)
        _call("model_make", self._own(), tokenizer, ctypes.byref(options))
        own = self.sizes._asdict()
        _check_effect([name for name, value in _given(sizes).items() if name != "hidden" and own.get(name, value) != value], options)

    @classmethod
    def load(cls, path: Path) -> "Model":
        """Reads a model's file."""
        return cls._made("model_load", _path(path))

    def save(self, path: Path) -> None:
        """Writes the model as one file, which `./sample` reads."""
        _call("model_save", self, _path(path), None)

    def extended(self, text: Text, *, seed: Optional[int] = None) -> "Model":
        """A new model that also knows all characters of a text, as `./train --init` makes it. This one
        does not change."""
        given = _bytes_of(text)
        return Model._made("model_extend", self, given, len(given), _lib.tril_options().seed if seed is None else seed)

    def _about(self) -> str:
        sizes = [f"{name} {value}" for name, value in self.sizes._asdict().items() if name != "rung" and value is not None]
        loss = "" if math.isnan(self.loss) else f", loss {self.loss:.4f}"
        return f"{self.sizes.rung}, {', '.join(sizes)}, {self.parameters:,} parameters{loss}"

    @property
    def loss(self) -> float:
        """The held-out loss of these weights; NaN if it was not evaluated."""
        return _call("model_loss", self)

    def note(self, key: str) -> Optional[str]:
        """The value of a key, such as "step", "seed" or "text", in the metadata of the file that the
        model was read from; None without it."""
        value = _call("model_metadata", self, _name("key", key))
        return None if value is None else value.decode()

    @property
    def sizes(self) -> Any:
        """The model's rung and sizes, as a Sizes."""
        return Sizes(*_values(_call("model_sizes", self), Sizes._fields))

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return _call("model_parameters", self)

    @property
    def counted(self) -> Tuple[int, int]:
        """The length of the text that a model counted, and the order of its n-grams; 0 and 0 for a model
        that has counted nothing."""
        characters = _Size()
        order = _call("model_counted", self, ctypes.byref(characters))
        return characters.value, order

    @property
    def digest(self) -> str:
        """A digest of the weights: equal digests mean equal bits."""
        return f"{_call('model_digest', self):016x}"

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        tokenizer = Tokenizer.__new__(Tokenizer)
        tokenizer._handle, tokenizer._owner = _call("model_tokenizer", self), self._owner
        return tokenizer

    @property
    def weights(self) -> Mapping[str, Any]:
        """The tensors [rows, columns] or [rows] by name, without copies: the model uses the numbers that
        are written into them, as by weights[name][:] = numbers, and no longer knows its `loss`. With NumPy,
        copy.deepcopy keeps those of now."""
        tensors: Dict[str, Any] = {}
        tensor = _lib.TrilTensor()
        while _call("model_tensor", self, len(tensors), ctypes.byref(tensor)):
            shape = [tensor.rows, tensor.columns][:tensor.rank]
            tensors[tensor.name.decode()] = _numbers(tensor.data, shape, self._owner)
        return _Weights(tensors)

    def generate(self, prompt: Text = "", *, on_text: Optional[Callable[[str], Any]] = None, **sampling: Any) -> str:
        """Continues a prompt, and returns the continuation. `on_text` gets each new character; if it
        returns False, the text ends. Options as those of `./sample`: length, stop, temperature, top_k,
        top_p, counts, seed, precision ("int8" or "f32"), threads."""
        given, how = _bytes_of(prompt), _lib.tril_sampling()
        _fill(how, sampling)
        writer = _Writing._made("writer_open", self, ctypes.byref(how), borrowed=[self])
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        _call("writer_append", writer, given, len(given))
        character, written = ctypes.create_string_buffer(4), []
        for _ in range(how.length):
            size = _call("writer_write", writer, character)
            if size == 0:
                raise Error("the model's predictions are not finite numbers, or another thread is training it", "diverged")
            written.append(decoder.decode(character.raw[:size]))
            if on_text and written[-1] and on_text(written[-1]) is False or _call("writer_stopped", writer):
                break
        return "".join(written)

    def texts(self, count: int, prompt: Text = "", **sampling: Any) -> List[str]:
        """Several continuations of a prompt, as `./sample --samples` writes them: together, in a fraction
        of the time of one after another. Options as those of `generate`."""
        given, how = _bytes_of(prompt), _lib.tril_sampling()
        parts: Dict[int, bytearray] = collections.defaultdict(bytearray)
        interrupted: List[bool] = []
        _fill(how, sampling)

        def take(number: int, text: int, length: int, _ended: bool, _user: Any) -> int:
            parts[number] += ctypes.string_at(text, length) if length else b""
            return len(interrupted)

        call = ("generate", self, given, len(given), ctypes.byref(how), _checked(_Size, count, "count"),
                ctypes.cast(_TAKES_TEXT(take), ctypes.c_void_p), None)
        # Ctrl-C would be lost in `take`, and may become another error where the classes of `threading` wait
        ended, failures = _thread.allocate_lock(), cast(List[BaseException], [])

        def write() -> None:
            try:
                _call(*call)
            except BaseException as error:
                failures.append(error)
            ended.release()

        ended.acquire()
        try:
            _thread.start_new_thread(write, ())
            while not ended.acquire(timeout=0.1):  # a Ctrl-C just before it begins to wait does not wake it
                pass
        except KeyboardInterrupt:
            interrupted.append(True)
            ended.acquire(timeout=1)  # the model is in use until then; without a thread, nothing ends
            raise
        if failures:
            raise failures[0]
        return [parts[i].decode("utf-8", "replace") for i in range(count)]

    def score(self, text: Text, *, precision: Optional[str] = None, threads: Optional[int] = None) -> Score:
        """The Score of a text, as `./sample --score` measures it, without the characters that the model does not
        know. `precision` is that of the weights: "f32" (the default) or "int8"."""
        given, score = _bytes_of(text), _lib.TrilScore()
        weights = _name("precision", "f32" if precision is None else precision)
        _call("score", self, given, len(given), weights, threads or 0, ctypes.byref(score))
        return Score(*_values(score, Score._fields))

    def read(self, text: Text, *, threads: Optional[int] = None, trace: bool = False) -> "Reading":
        """Reads a text, or its end if it is longer than the context. With `trace` keeps all intermediate
        results for Reading.lines."""
        return Reading(self, text, threads=threads, trace=trace)


_TAKES_TEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool, ctypes.c_void_p)


class _Writing(_Object):
    """A text that a model writes."""

    _free = "writer_close"


class Reading(_Object):
    """A text that a model has read, with its predictions, its attention and its intermediate results.
    Row t of all arrays belongs to character t of those read. len() is T, at most the context. Of an empty
    text its start is read."""

    _free = "reading_close"

    def __init__(self, model: Model, text: Text, *, threads: Optional[int] = None, trace: bool = False) -> None:
        given, trace = _bytes_of(text), _checked(ctypes.c_bool, trace, "trace")
        self.model, self._tokenizer = model, model.tokenizer
        _call("reading_open", self._own(model), model, given, len(given), trace, threads or 0)
        self.layers, self.heads = self._record.layers, self._record.heads

    def __len__(self) -> int:
        return self._record.tokens

    def _about(self) -> str:
        return f"{len(self)} characters, loss {self.loss:.4f}"

    @property
    def skipped(self) -> int:
        """The number of characters of the text that were not read."""
        return self._record.skipped

    @property
    def logits(self) -> Any:
        """[T, V], without a copy: row t predicts the character after t."""
        shape = [len(self), len(self._tokenizer)]
        return _numbers(self._record.logits, shape, self._owner)

    @property
    def loss(self) -> float:
        """The mean loss on all characters except the first; NaN for a single one."""
        return self._record.loss

    def expected(self, row: int = -1, count: int = 5, **sampling: Any) -> List[Tuple[str, float]]:
        """The likeliest characters after that of a row, each with its probability. Options are temperature (1),
        top_k and top_p, as those of Model.generate."""
        V, how = len(self._tokenizer), _lib.tril_sampling()
        how.temperature = 1
        t = range(len(self))[_checked(_Int, row, "row")]
        logits = (ctypes.c_float * V).from_address(self._record.logits + 4 * V * t)
        p = (_Double * V)()
        _fill(how, sampling, ["temperature", "top_k", "top_p"])
        _call("probabilities", ctypes.byref(how), ctypes.addressof(logits), V, p)
        best = sorted(range(V), key=lambda i: -p[i])[:_checked(_Size, count, "count")]
        return [(self._tokenizer.decode([i]), p[i]) for i in best]

    def match(self, row: int = -1) -> int:
        """The length of the longest match, in the counted text, of the characters that end at this row; 0
        in a model that counts nothing."""
        return _call("reading_match", self, range(len(self))[_checked(_Int, row, "row")])

    def attention(self, layer: int, head: int) -> Any:
        """[T, T]: how much each character (row) attends to each other one (column). Each row sums to 1."""
        T = len(self)
        numbers = (ctypes.c_float * (T * T))()
        _call("reading_attention", self, layer, head, numbers, T * T)
        return _numbers(ctypes.addressof(numbers), [T, T], numbers)

    def lines(self) -> List[Line]:
        """The lines of the computation, from the ids to the logits, of a reading with `trace`.
        Without NumPy the arrays are copies."""
        lines: List[Line] = []
        line = _lib.TrilLine()
        while _call("reading_line", self, len(lines), ctypes.byref(line)):
            *inputs, output = [_numbers(array.data, [len(self), array.width], self._owner, array.row)
                               for array in (*line.inputs, line.output) if array.number]
            weights = [tensor.name.decode() for tensor in line.weights if tensor.name]
            lines.append(Line(line.operation.decode(), line.title.decode(), line.equation.decode(), line.layer,
                              line.heads, inputs, output, weights))
        if not lines:
            raise Error("this reading has kept no lines; read the text with trace=True", "argument")
        return lines


class _Text(_Object):
    """A text as ids, with a held-out part at its end."""

    _free = "text_free"

    def __init__(self, tokenizer: Any, text: Texts, options: Any, held_out: Optional[Text] = None) -> None:
        options.bytes = _record_of(tokenizer).bytes
        given = _joined(text, options, held_out)
        _call("text_make", self._own(), tokenizer, given, len(given), options.held_out)


class Training(_Object):
    """A training run of a model on a text, or on several, step by step. `val_file`, a text, is held out in place of the
    end of the others."""

    _free = "training_close"
    _most = 10**9  # the most steps that run() plans for its seconds

    @_takes(*_TRAINING)
    def __init__(self, model: Model, text: Texts, *, val_file: Optional[Text] = None, **options: Any) -> None:
        how = _lib.tril_options()
        how.batch = math.nan  # follows from the context
        _fill(how, options, _TRAINING)
        how.rung = _call("model_sizes", model).rung
        _check_effect(_given(options), how)
        self._open(model, _Text(_call("model_tokenizer", model), text, how, val_file), how)

    def _open(self, model: Model, text: _Text, options: Any) -> None:
        self.model = model
        _call("training_open", self._own(model, text), model, text, ctypes.byref(options))

    @classmethod
    @_takes(*_RESUMED, resumed=True)
    def resume(cls, path: Path, text: Texts, *, val_file: Optional[Text] = None, **options: Any) -> "Training":
        """Resumes a training run from its state (`save`) on the same text. It has a model of its own. Options change
        it, such as `steps`, their new number, which is at least the number of those done."""
        training, state = cls.__new__(cls), _lib.TrilState()
        model, how = Model._made("state_load", ctypes.byref(state), _path(path)), state.options
        _fill(how, options, _RESUMED)
        done, asked = state.progress.step, _given(options)
        if asked.get("steps", done) < done:
            raise Error(f"{os.fsdecode(path)}: was trained for {done} steps, more than steps={asked['steps']}; "
                        "give more steps", "argument")
        _check_effect(asked, how)
        own = _Text(_call("model_tokenizer", model), text, how, val_file)
        training._open(model, own, how)
        return training

    def _about(self) -> str:
        return f"step {self.done} of {self._last.steps}, {self.model!r}"

    @property
    def options(self) -> Any:
        """The Options of the training, with the values that were chosen for unset ones."""
        return Options(*_values(_call("training_options", self), Options._fields))

    @property
    def done(self) -> int:
        """The number of steps taken."""
        return _call("training_progress", self).step

    def step(self) -> Step:
        """Takes a step. Fails if no step is left, or if the loss is no longer a number."""
        self._compute("training_step")
        return self._last

    @property
    def _last(self) -> Step:
        return Step(*_values(_call("training_progress", self), Step._fields))

    def _compute(self, function: str, *arguments: Any) -> None:
        if self._process != os.getpid():
            raise Error("a fork does not copy a training run's threads: save its state, and resume it there", "argument")
        _call(function, self, *arguments)

    def run(self, on_step: Optional[Callable[[Step], Any]] = None, *, seconds: float = math.inf,
            progress: Optional[bool] = None) -> bool:
        """Takes all remaining steps or, with `seconds`, as many as fit in that time. `on_step` is called after
        each; if it returns False, the training stops, and another call resumes it, as after Ctrl-C.
        `progress` shows a bar if tqdm is installed; None shows it only in notebooks. Returns whether all
        steps are done."""
        _checked(_Double, seconds, "seconds")
        bar, told = _progress_bar(self.options.steps, self.done, progress), self.done
        begun, before = clock.monotonic(), self.done

        def tell() -> Any:
            nonlocal told
            now = self._last
            told = now.step
            answer = on_step(now) if on_step else None
            if bar is not None:
                bar.total = now.steps
                bar.update(1)
                bar.set_postfix(loss=f"{now.loss:.4f}", refresh=False)
            return answer

        try:
            while self.done < _call("training_options", self).steps:
                self._compute("training_step")
                if seconds < math.inf:
                    spent = max(clock.monotonic() - begun, 1e-9)  # a clock may stand still for a step
                    fit = int(max(0, seconds - spent) * (self.done - before) / spent)
                    self.set_steps(min(self.done + fit, max(self.done, self._most)))
                if tell() is False:
                    break
        except KeyboardInterrupt:  # it comes at the end of a step, which is done
            if self.done > told:
                tell()
            raise
        finally:
            if bar is not None:
                bar.close()
        return self.done >= _call("training_options", self).steps

    def set_steps(self, steps: int) -> None:
        """Plans another number of steps, at least those done; the learning rates follow it."""
        _call("training_set_steps", self, steps)

    def cool_down(self) -> bool:
        """Starts the decay of the learning rates now, for a run whose loss no longer falls at the peak rate, and
        plans fewer steps. Returns False, and changes nothing, before the first step, if the training would end
        no earlier, or if the rung's rates do not stay at their peak."""
        return _call("training_cool_down", self)

    def evaluate(self, characters: Optional[int] = None) -> float:
        """The mean loss over the held-out text. If `characters` is given and the text is longer, reads
        only evenly spaced windows of about that many characters, which is faster."""
        nats = _Double()
        self._compute("training_evaluate", 0 if characters is None else characters, None, None, ctypes.byref(nats))
        return nats.value

    def save(self, path: Path) -> None:
        """Writes the state, which `Training.resume` and `./train --resume` resume."""
        _call("training_save", self, _path(path), None)


def _progress_bar(steps: int, done: int, wanted: Optional[bool]) -> Any:
    """A bar, if it is wanted (None: only in notebooks) and tqdm is installed; else None."""
    try:
        if wanted is None:
            from IPython import get_ipython
            wanted = hasattr(get_ipython(), "kernel")
        if wanted:
            from tqdm.auto import tqdm
            return tqdm(total=steps, initial=done, unit="step")
    except ImportError:
        pass
    return None


@_takes("time", "bytes", *_SIZES[1:], *_TRAINING)
def train(text: Texts, rung: Optional[str] = None, *, preset: Optional[str] = None, init: Optional[Model] = None,
          val_file: Optional[Text] = None, on_step: Optional[Callable[[Step], Any]] = None,
          progress: Optional[bool] = None, **options: Any) -> Model:
    """Makes a model of a rung, and trains it on a text, or on several. `val_file`, a text, is held out in place of the
    end of the others. `model` is another name of `rung`. `preset` sets sizes and steps.
    With `time`, such as 60 or "5m", sizes that are not given are chosen for this time and this machine. `init` is
    a model to begin from, whose sizes and bytes stay. `on_step` and `progress` are those of Training.run. After
    Ctrl-C, the KeyboardInterrupt has the attribute `model`, the current model."""
    begun, how = clock.monotonic(), _lib.tril_options()
    seconds = _fill(_lib.tril_options(), {"time": options.get("time")}).time
    seconds = math.inf if math.isnan(seconds) else seconds
    for name in ["batch"] + (_SIZES[1:] if seconds < math.inf else ["context"]):
        setattr(how, name, math.nan)
    if preset is not None:
        _call("options_set", ctypes.byref(how), b"preset", _name("preset", preset))
    asked = _given({"rung": rung, **options})
    fixed = _SIZES + ["bytes"]
    _fill(how, {"rung": rung, **options}, ["time"] + fixed + _TRAINING)
    if seconds < math.inf and asked.get("steps") is not None:
        raise Error("steps and time both limit the training; give only one", "argument")
    if preset is not None and init is not None:
        raise Error("init and preset both set the sizes; give only one", "argument")
    if init is not None:
        own = _call("model_sizes", init)
        own.kv_heads = own.heads if math.isnan(own.kv_heads) else own.kv_heads
        own.bytes = init.tokenizer._record.bytes
        for name, value, wanted in zip(fixed, _values(own, fixed), _values(how, fixed)):
            if asked.get(name) is not None and wanted != value:
                raise Error(f"{name}: that of `init` is {value}, not {wanted}", "argument")
            setattr(how, name, getattr(own, name))
        how.hidden = own.hidden
    _check_effect(asked, how)
    if val_file is not None and asked.get("held_out") is not None:
        raise Error("val and val_file both say what is held out; give only one", "argument")
    given = _joined(text, how, val_file)
    known = init.extended(given, seed=how.seed) if init is not None else None
    tokenizer = known.tokenizer if known is not None else Tokenizer(None if how.bytes else given)
    own, most = _Text(tokenizer, given, how), Training._most
    extent, choice = own._record, _lib.TrilChoice(speed=math.inf)
    if seconds == math.inf:
        _call("options_decide", ctypes.byref(how), own, init is not None, None)
    if seconds < math.inf:
        characters = extent.trained_on
        _call("options_choose", ctypes.byref(how), own, init is not None, seconds, ctypes.byref(choice))
        step = how.batch * how.context
        most = int(min(most, max(1, (how.epochs or math.inf) * characters / step)))
        how.steps = min(most, max(1, choice.speed * seconds // step))
    model = known if known is not None else Model._made("model_make", tokenizer, ctypes.byref(how))
    training: Training = Training.__new__(Training)
    training._most = most
    training._open(model, own, how)
    with training:
        try:
            evaluation = min((extent.characters - extent.trained_on) / choice.speed, seconds / 4)
            left = seconds - evaluation - (clock.monotonic() - begun)
            if training.run(on_step, seconds=left, progress=progress):
                training.evaluate()  # which the model then has as its loss
        except KeyboardInterrupt as interrupt:
            interrupt.model = model  # type: ignore[attr-defined]
            raise
    return model
