import os
import pathlib
import signal
import subprocess
import sys
import webbrowser

USAGE = """Usage: tril train FILE...    trains models on a text; see tril train --help
       tril sample           writes with a model; see tril sample --help
       tril explain TEXT     shows how a model gets from TEXT to the next character
       tril web [FILE]       opens the page that trains in a browser tab, or copies it to FILE
       tril export, import   exchange models with transformers and llama.cpp; see tril export --help"""


def program(part: str, *words: str) -> int:
    """Becomes a program, which is beside this file, or on Windows runs it. Returns its exit status."""
    path, command = pathlib.Path(__file__).with_name(part), [f"tril {part}", *words]
    if os.name == "nt":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's
        return subprocess.call(command, executable=path.with_suffix(".exe"))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores
    os.execv(path, command)


def web(*files: str) -> int:
    """Opens the page, or copies it to a new file."""
    page = pathlib.Path(__file__).with_name("tril.html")
    if not page.exists():
        sys.exit("tril: was installed without the page; in the folder of the sources, `make web` makes it for `pip install .`")
    if not files:
        return 0 if webbrowser.open(page.as_uri()) else sys.exit("tril: no browser was found; copy the page: tril web FILE")
    try:
        with open(files[0], "xb") as copy:
            copy.write(page.read_bytes())
    except OSError as error:
        sys.exit(f"tril: {files[0]}: {error.strerror}")
    return 0


def main() -> None:
    part, *words = sys.argv[1:] or ["--help"]
    if part not in ("train", "sample", "export", "import") and {"-h", "--help"}.intersection((part, *words)):
        part = "--help"
    if part in ("train", "sample"):
        status = program(part, *words)
    elif part == "--version":
        status = program("train", part)
    elif part == "explain" and words:
        status = program("sample", "--explain", *words)
    elif part in ("export", "import"):
        from tril import exchange
        status = exchange.main(part, words)
    elif part == "web" and len(words) < 2:
        status = web(*words)
    else:
        print(USAGE)
        status = 0 if part == "--help" else 2
    sys.exit(status)


if __name__ == "__main__":
    main()
