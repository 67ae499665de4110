"""What counting n characters at a time gives: the loss of an interpolated, modified Kneser-Ney model
(Chen and Goodman, 1999) on the end of a text, of which the rest is counted. Written from the
equations in model/ngram_predict.c and ngram_count.c, with dictionaries.

    python3 extras/bench/peers/ngram.py FILE [--held-out SHARE] [--context T] [N...]

prints nats per character for each order N (default: 2 to 8): in windows of T characters (default:
256), laid end to end, where a prediction sees nothing before its window, and of the running text,
where it sees all before it. The held-out share is 0.1. `--train PROGRAM` trains with PROGRAM,
./train, and fails unless both losses are the same. Needs nothing but Python.
"""

import argparse
import math
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict


def discounts(counts):
    """Of counts of 1, 2, and 3 or more, from counts of counts. A guess if there are too few."""
    n = Counter(counts.values())
    y = n[1] / (n[1] + 2 * n[2]) if n[1] + n[2] else math.nan
    found = [i - (i + 1) * y * n[i + 1] / n[i] if n[i] else math.nan for i in (1, 2, 3)]
    return [d if 0 < d <= i else 0.5 * i for i, d in enumerate(found, 1)]


class KneserNey:
    """Probabilities of a character after a context of up to `order` - 1. Below the highest order a
    sequence counts once for each different character before it."""

    def __init__(self, text, order, vocabulary):
        self.order, self.vocabulary, self.levels = order, vocabulary, []
        padded = (None,) * (order - 1) + tuple(text)  # one unknown character before the text
        counts = Counter(padded[i : i + order] for i in range(len(text)))
        for _ in range(order):
            d = discounts(counts)
            totals, held = defaultdict(int), defaultdict(float)
            for gram, count in counts.items():
                totals[gram[:-1]] += count
                held[gram[:-1]] += d[min(count, 3) - 1]
            self.levels.insert(0, (counts, totals, held, d))
            counts = Counter(gram[1:] for gram in counts)

    def probability(self, context, character):
        p = 1 / self.vocabulary
        for n in range(self.order):
            history = tuple(context[len(context) - n :])
            counts, totals, held, d = self.levels[n]
            if len(history) < n or history not in totals:
                break
            count = counts.get(history + (character,), 0)
            own = count - d[min(count, 3) - 1] if count else 0
            p = (own + held[history] * p) / totals[history]
        return p


def losses(text, held_out, context, order):
    """Of all held-out characters but the first, as ./train has them: in windows; of the running text."""
    train = int(len(text) * (1 - held_out))
    model, windows, running = KneserNey(text[:train], order, len(set(text))), 0.0, 0.0
    for i in range(train + 1, len(text)):
        window = i - 1 - (i - 1 - train) % context
        windows -= math.log(model.probability(text[max(window, i - order + 1) : i], text[i]))
        running -= math.log(model.probability(text[max(train, i - order + 1) : i], text[i]))
    return windows / (len(text) - train - 1), running / (len(text) - train - 1)


def compare(program, path, text, held_out, context):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "-q", "--ladder", "-l", "1", "-w", "2", "-H", "1", "-c", str(context), "-b", "1",
                        "-s", "1", "--val", str(held_out), "-o", folder + "/m", path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(folder + "/m/ladder.csv", encoding="utf-8") as file:
            rows = [line.split(",") for line in file]
    theirs = {row[0]: float(row[3]) for row in rows if row[0].endswith("-gram")}
    order = int(next(iter(theirs)).split()[1].split("-")[0])
    ours = losses(text, held_out, context, order)
    for (name, loss), own in zip(theirs.items(), ours):
        print(f"{name}: {own:.7f}, {program}: {loss:.6f}")
    return len(theirs) == 2 and all(abs(a - b) <= 1e-6 for a, b in zip(theirs.values(), ours))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("orders", type=int, nargs="*", default=range(2, 9))
    parser.add_argument("--held-out", type=float, default=0.1)
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--train")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8", newline="") as file:
        text = file.read()
    if options.train:
        sys.exit(not compare(options.train, options.file, text, options.held_out, options.context))
    for order in options.orders:
        windows, running = losses(text, options.held_out, options.context, order)
        print(f"{order}-gram {windows:.7f}, running text {running:.7f}", flush=True)


if __name__ == "__main__":
    main()
