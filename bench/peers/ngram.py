"""What counting n characters at a time gives: the loss of an interpolated, modified Kneser-Ney model
(Chen and Goodman, 1999) on the last tenth of a text, of which the rest is counted.

    python3 bench/peers/ngram.py FILE [N...]

prints nats per character for each order N (default: 2 to 8); the whole text before a character is
known to it, so that no window is cut. `--check` compares it with NLTK's KneserNeyInterpolated, which
has one discount, on a small text, and needs the package nltk; else it needs nothing but Python.
"""

import math
import sys
from collections import Counter, defaultdict

HELD_OUT = 0.1


def discounts(counts):
    """Of counts of 1, 2, and 3 or more: Chen and Goodman's estimates from counts of counts."""
    n = Counter(min(c, 5) for c in counts.values())
    if not all(n[i] for i in (1, 2, 3, 4)):
        return (0.5, 0.5, 0.5)
    y = n[1] / (n[1] + 2 * n[2])
    return tuple(i - (i + 1) * y * n[i + 1] / n[i] for i in (1, 2, 3))


class KneserNey:
    """Probabilities of a character after a context of up to `order` - 1. Below the highest order a
    sequence counts once for each different character before it."""

    def __init__(self, text, order, vocabulary, discount=None):
        self.order, self.vocabulary = order, vocabulary
        counts = Counter(text[i : i + order] for i in range(len(text) - order + 1))
        self.levels = []
        for n in range(order, 0, -1):
            d = (discount,) * 3 if discount else discounts(counts)
            totals, held = defaultdict(int), defaultdict(float)
            for gram, count in counts.items():
                totals[gram[:-1]] += count
                held[gram[:-1]] += d[min(count, 3) - 1]
            self.levels.insert(0, (counts, totals, held, d))
            counts = Counter(gram[1:] for gram in counts)

    def probability(self, context, character):
        p = 1 / self.vocabulary
        for n in range(self.order):
            history = context[len(context) - n :] if n else ""
            counts, totals, held, d = self.levels[n]
            if history not in totals:
                break
            count = counts.get(history + character, 0)
            own = count - d[min(count, 3) - 1] if count else 0
            p = (own + held[history] * p) / totals[history]
        return p


def loss(model, before, text):
    all_of_it, nats = before + text, 0.0
    for i in range(len(before), len(all_of_it)):
        context = all_of_it[i - model.order + 1 : i]
        nats -= math.log(model.probability(context, all_of_it[i]))
    return nats / len(text)


def check():
    from nltk.lm import KneserNeyInterpolated
    from nltk.util import ngrams

    text, order, discount = "the tall theatre then thawed the teeth of the other three " * 3, 3, 0.1
    theirs = KneserNeyInterpolated(order, discount=discount)
    grams = [[g for n in range(1, order + 1) for g in ngrams(text, n)]]
    theirs.fit(grams, sorted(set(text)))
    ours = KneserNey(text, order, len(theirs.vocab), discount)
    for context in ("th", "he", "e "):
        for c in sorted(set(text)):
            print(repr(context + c), theirs.score(c, tuple(context)), ours.probability(context, c))


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
        sys.exit()
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    train = int(len(text) * (1 - HELD_OUT))
    for order in [int(n) for n in sys.argv[2:]] or range(2, 9):
        model = KneserNey(text[:train], order, len(set(text)))
        print(f"{order}-gram {loss(model, text[:train], text[train:]):.4f}", flush=True)
