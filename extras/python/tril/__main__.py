import ctypes
import os
import pathlib
import signal
import sys
import webbrowser

from tril import _lib

USAGE = """Usage: tril train FILE...    trains models on a text; see tril train --help
       tril sample           writes with a model; see tril sample --help
       tril explain TEXT     shows how a model gets from TEXT to the next character
       tril web [FILE]       opens the page that trains in a browser tab, or copies it to FILE"""


def program(*words: str) -> int:
    """Runs a program, which the library has, in this process. Returns its exit status."""
    if not hasattr(_lib.dll, "tril_main"):
        sys.exit("tril: this build of the library has no programs; install a wheel that `make wheels` built")
    arguments = (ctypes.c_char_p * (len(words) + 2))(b"tril", *map(os.fsencode, words))
    return _lib.dll.tril_main(len(words) + 1, arguments)


def web(*files: str) -> int:
    """Opens the page, or copies it to a new file."""
    page = pathlib.Path(__file__).with_name("tril.html")
    if not page.exists():
        sys.exit("tril: this wheel was built without the page; `make wheels` builds it with the page")
    if not files:
        return 0 if webbrowser.open(page.as_uri()) else sys.exit("tril: no browser was found; copy the page: tril web FILE")
    try:
        with open(files[0], "xb") as copy:
            copy.write(page.read_bytes())
    except OSError as error:
        sys.exit(f"tril: {files[0]}: {error.strerror}")
    return 0


def main() -> None:
    for name in ("SIGINT", "SIGPIPE"):  # as if the program were not Python's
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    part, *words = sys.argv[1:] or ["--help"]
    if part in ("train", "sample"):
        status = program(part, *words)
    elif part == "--version":
        status = program("train", part)
    elif part == "explain" and words:
        status = program("sample", "--explain", *words)
    elif part == "web" and len(words) < 2:
        status = web(*words)
    else:
        print(USAGE)
        status = 0 if part == "--help" else 2
    sys.stdout.flush()
    os._exit(status)  # threads of the program may still wait


if __name__ == "__main__":
    main()
