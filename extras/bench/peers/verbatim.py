"""Does a text repeat the held-out text word for word? It should not: the model has never seen it.

    ./sample -n 100000 | python3 extras/bench/peers/verbatim.py FILE

reads what a model wrote, and FILE, on whose first nine tenths it was trained. Prints the longest piece
of the written text that stands in the held-out last tenth and not in the training part, and the longest
that stands in the training part; then how much of the written text stands in the training part in pieces
of 50 characters or more. Fails if 50 characters of the held-out text are repeated. Needs nothing
but Python.
"""

import sys

HELD_OUT, TOO_LONG = 0.1, 50


def longest(written, source, excluded=""):
    """The longest piece of `written` that stands in `source` and not in `excluded`."""
    best, start = "", 0
    while start + len(best) < len(written):
        end = start + len(best) + 1
        if written[start:end] in source:
            while end < len(written) and written[start : end + 1] in source:
                end += 1
            if not excluded or written[start:end] not in excluded:
                best = written[start:end]
        start += 1
    return best


def copied(written, source):
    """The share of `written` in pieces of TOO_LONG characters or more that stand in `source`."""
    pieces = {source[i : i + TOO_LONG] for i in range(len(source) - TOO_LONG + 1)}
    covered = end = 0
    for i in range(len(written) - TOO_LONG + 1):
        if written[i : i + TOO_LONG] in pieces:
            covered += i + TOO_LONG - max(i, end)
            end = i + TOO_LONG
    return covered / max(len(written), 1)


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        text = file.read()
    cut = len(text) - int(len(text) * HELD_OUT)
    written = sys.stdin.read()
    held_out = longest(written, text[cut:], text[:cut])
    trained = longest(written, text[:cut])
    print(f"held out {len(held_out)} {held_out!r}\ntraining {len(trained)} {trained!r}")
    print(f"copied {copied(written, text[:cut]):.4f}")
    if len(held_out) >= TOO_LONG:
        sys.exit("verbatim: that is too long to be chance")


if __name__ == "__main__":
    main()
