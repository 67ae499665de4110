"""Tests the module tril as it was installed (extras/python/tests/test). TRIL_PROGRAMS is the folder of the programs,
TRIL_TEXT a text."""
import contextlib
import copy
import functools
import gc
import inspect
import io
import math
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import weakref

import tril

try:
    import numpy
except ImportError:
    numpy = None
try:
    import tqdm
except ImportError:
    tqdm = None

PATH = pathlib.Path(os.environ["TRIL_TEXT"])
TEXT = PATH.read_text()
WTE = "transformer.wte.weight"
SIZES = dict(layers=1, heads=2, width=16, context=16)
FEW = dict(batch=4, precision="f32", threads=1)
SMALL = dict(**SIZES, **FEW)
SMALL_WORDS = "-m gpt -l 1 -H 2 -w 16 -c 16 -b 4 -s 10 -j 1 --patience 1 --precision f32".split()


def small(rung="gpt", steps=10, **others):
    return tril.train(TEXT, rung, steps=steps, **{**SMALL, **others})


def untrained(rung="gpt", **others):
    return tril.Model(tril.Tokenizer(TEXT), rung, **SIZES, **others)


def training_of(model=None, steps=2, **others):
    """Few steps on the text, of the model or a new one."""
    return tril.Training(model or untrained(), TEXT, **{**FEW, "steps": steps, **others})


def script(text):
    """What a script prints."""
    return subprocess.run([sys.executable, "-c", text], check=True, capture_output=True).stdout.decode()


def program(name, *words):
    command = [pathlib.Path(os.environ["TRIL_PROGRAMS"]) / name, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def trained(self, *words):
        """The model that ./train has after the last step."""
        program("train", "-q", "-o", self.folder / "run", *words)
        return tril.Model.load(self.folder / "run" / "state.safetensors")

    def fails(self, kind, name, call):
        """Checks the kind of an error, and the name or number in its one sentence."""
        with self.assertRaises(tril.Error) as caught:
            call()
        for error in caught.exception, copy.copy(caught.exception):  # as when another process raised it
            self.assertEqual((error.kind, str(error)), (kind, str(caught.exception)))
        self.assertIn(name, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class SameAsThePrograms(Case):
    def test_defaults(self):
        text = self.put("text", TEXT * 4)
        for rung in "gpt", "ngram":
            last = self.trained("-m", rung, "-l", 1, "-w", 32, "-s", 2, text)
            model = tril.train(text, rung, layers=1, width=32, steps=2)
            self.assertEqual((model.sizes, model.digest), (last.sizes, last.digest))
            self.assertIn(last.digest, program("sample", "--info", self.folder / "run" / "state.safetensors"))
            if rung == "gpt":  # the batch of an ngram depends on whether its context is set
                other = tril.Model(tril.Tokenizer(text), **last.sizes._asdict())
                with tril.Training(other, text, steps=2) as training:
                    training.run()
                self.assertEqual(other.digest, last.digest)

    def test_text_and_score(self):
        path, unknown = self.folder / "model.safetensors", self.put("text", "THE § CLOCK §")
        for rung, precision in ("modern", "f32"), ("ngram", "int8"):
            model = small(rung)
            model.save(path)
            written = model.generate("THE", length=80, seed=3)
            self.assertEqual(program("sample", "-p", "THE", "-n", 80, "--seed", 3, path).rstrip("\n"),
                             ("THE" + written).rstrip("\n"))
            for text in PATH, unknown:
                score = model.score(text, precision=precision)
                said = program("sample", "--score", text, "--precision", precision, path)
                self.assertIn(f"nats_per_char {score.nats:.6f}\n", said)
            self.assertEqual((score.characters, score.unknown), (13, 2))
            self.assertEqual(tril.Model.load(path).digest, model.digest)

    def test_several_texts(self):
        one, two, other = (self.put(f"{i}.txt", TEXT[i:i + 5000]) for i in (0, 5000, 10000))
        model = tril.train((one, two), "gpt", steps=10, **SMALL)
        self.assertEqual(model.digest, self.trained(*SMALL_WORDS, one, two).digest)
        self.assertNotEqual(model.digest, tril.train((two, one), "gpt", steps=10, **SMALL).digest)
        model = tril.train(one, "gpt", steps=10, val_file=other, **SMALL)
        self.assertEqual(model.digest, self.trained(*SMALL_WORDS, "--val-file", other, one).digest)
        self.assertAlmostEqual(model.loss, model.score(other).nats, 4)
        with tril.Training(untrained(), one, val_file=other, steps=2, batch=4) as training:
            training.step()
            training.save(self.folder / "state")
        with tril.Training.resume(self.folder / "state", one, val_file=other) as training:
            self.assertEqual(training.done, 1)
        self.fails("text", "text", lambda: tril.Training.resume(self.folder / "state", one))
        self.fails("argument", "val_file", lambda: tril.train(one, val_file=other, val=0.2))


class Models(Case):
    def test_defaults(self):
        model = tril.Model(tril.Tokenizer(TEXT))
        self.assertEqual(model.sizes, tril.Sizes(rung="modern", layers=4, heads=4, width=128, context=256,
                                                  kv_heads=None, hidden=None))
        self.assertEqual(list(tril.rungs())[:2], ["bigram", "average"])
        self.assertEqual(tril.version().count("."), 2)

    def test_a_path_is_not_a_text(self):
        model, path = small(), self.put("poem.txt", TEXT)
        for call in (lambda text: tril.train(text, steps=1), lambda text: tril.train([TEXT, text], steps=1), tril.Tokenizer,
                     model.generate, model.score, model.read, model.extended, lambda text: tril.Training(model, text)):
            with self.assertRaisesRegex(TypeError, r"pathlib\.Path\("):
                call(str(path))
        for text in {"text": str(path) + "t"}, {"text": path, "val_file": str(path) + "t"}:
            with self.assertRaisesRegex(TypeError, "no such file"):
                tril.train(**text, steps=1)
        self.assertEqual(model.score(path), model.score(TEXT))
        for text in str(path) + "\n", "THE CLOCK.", str(path).encode():  # no file, or meant as it is
            tril.Tokenizer(text)

    def test_about(self):
        model = small("modern", init=untrained("modern", kv_heads=1, hidden=8))
        for shown in *(f"{name} {value}" for name, value in model.sizes._asdict().items() if name != "rung"), \
                "modern", f"{model.parameters:,}", f"{model.loss:.4f}":
            self.assertIn(shown, repr(model))
        with training_of(steps=1234567) as training:
            self.assertRegex(repr(training), r"tril.Training.* 0 .* 1234567\b.*tril.Model.* gpt\b")
            self.assertTrue(math.isnan(training.model.loss))
            self.assertEqual(training.evaluate(), training.model.loss)
        with model.read("THE") as reading, model.tokenizer as tokenizer:
            self.assertRegex(repr(reading), rf"tril.Reading.* 3 .*{reading.loss:.4f}")
            self.assertRegex(repr(tokenizer), rf"tril.Tokenizer.* {len(tokenizer)} ")
        for closed in training, reading, tokenizer:
            self.assertRegex(repr(closed), rf"tril.{type(closed).__name__}\D*$")  # without any number
        self.assertIsNone(model.note("none"))

    def test_weights_are_shared(self):
        model = small()
        before, loss = model.digest, model.score("THE CLOCK")
        weights = model.weights
        self.assertEqual(sum(memoryview(w).nbytes // 4 for w in weights.values()), model.parameters)
        wte = weights[WTE]
        self.assertEqual(tuple(wte.shape), (len(model.tokenizer), 16))
        self.assertEqual(type(wte), memoryview if numpy is None else numpy.ndarray)
        wte[0, 0] += 1.0
        self.assertNotEqual(model.digest, before)
        self.assertNotEqual(model.score("THE CLOCK"), loss)

    def test_weights_are_kept(self):
        model = small()
        before, weights = model.digest, model.weights
        kept = [copy.copy(weights)]
        if numpy is not None:  # which copies the numbers, too
            kept = [copy.deepcopy(weights), pickle.loads(pickle.dumps(weights))]
        weights[WTE][0, 0] += 1.0
        for each in kept:
            self.assertEqual((type(each), list(each)), (dict, list(weights)))
            each[WTE + " of another"] = each[WTE]
            if numpy is not None:
                weights[WTE][:] = each[WTE]
                self.assertEqual(model.digest, before)
                weights[WTE][:] = 0
        other, tensor = {WTE: weights[WTE]}, weights[WTE]
        weights[WTE] = tensor  # as after weights[WTE] += 1 of NumPy
        for change in (lambda: weights.__setitem__(WTE, model.weights[WTE]), lambda: weights.__setitem__("other", tensor), lambda: weights.__delitem__(WTE), weights.clear,
                       lambda: weights.pop(WTE), weights.popitem, lambda: weights.setdefault("other", tensor),
                       lambda: weights.update(other), lambda: weights.__ior__(other)):
            with self.assertRaisesRegex(TypeError, r"weights\[name\]\[:\]"):
                change()
        self.assertEqual(list(weights), list(model.weights))

    def test_weights_outlive_the_model(self):
        wte = small().weights[WTE]
        gc.collect()
        untrained()
        self.assertTrue(abs(wte[0, 0]) < 10)

    def test_generation(self):
        model, pieces = small(), []
        text = model.generate(length=30, on_text=pieces.append)
        self.assertEqual((len(pieces), "".join(pieces)), (30, text))
        self.assertEqual(model.generate(length=30, threads=2), text)
        self.assertNotEqual(model.generate(length=30, seed=1), text)
        self.assertEqual(len(model.generate(length=30, on_text=lambda piece: False)), 1)
        texts = model.texts(3, length=30)
        self.assertEqual((texts[0], len(set(texts))), (text, 3))
        self.assertTrue(all(t.endswith("e") or len(t) == 90 for t in model.texts(5, "THE", stop="e", length=90)))
        self.assertEqual(model.texts(1, "THE", stop="e"), [model.generate("THE", stop="e")])
        with self.assertRaises(ZeroDivisionError):
            model.generate(on_text=lambda piece: 1 / 0)

    def test_names(self):
        for name in "rung", "precision", "preset":
            for wrong in "", "nonsense":
                self.fails("argument", "model" if name == "rung" else name, lambda: tril.train(TEXT, **{"steps": 1, name: wrong}))
        self.assertEqual(small(lr=0.01, val=0.2).digest, small(learning_rate=0.01, held_out=0.2).digest)
        for one, other, value in ("lr", "learning_rate", 0.1), ("val", "held_out", 0.1), ("model", "rung", "gpt"):
            for given in {one: value, other: value}, {other: value, one: value}:
                with self.assertRaisesRegex(TypeError, f"{one} and {other}"):
                    tril.train(TEXT, steps=1, **given)
        self.assertEqual(tril.train(TEXT, model="head", steps=2, width=16, **FEW).sizes.rung, "head")
        for ours, said in (("patience", "train"), ("nonsense", "nonsense'$"), ("eval_every", "train"), ("stepz", "'steps'"),
                           ("modle", "'model'"), ("kv-heads", "'kv_heads'")):
            with self.assertRaisesRegex(TypeError, said):
                small(**{ours: 1})
        for call in lambda: untrained(lr=0.1), lambda: tril.train(TEXT, lr=math.nan), lambda: tril.train(TEXT, lr="a"):
            with self.assertRaisesRegex((TypeError, ValueError), r"\blr\b"):
                call()

    def test_arguments_are_named(self):
        model, training = small(), training_of()
        for name, call in (("trace", lambda: model.read("x", trace="yes")), ("threads", lambda: model.read("x", threads=1.5)),
                           ("key", lambda: model.note(3)), ("preset", lambda: tril.train(TEXT, preset=b"quick")),
                           ("precision", lambda: model.score(TEXT, precision=8)), ("seed", lambda: model.extended("x", seed=1.5)), ("steps", lambda: training.set_steps(1.5))):
            with self.assertRaisesRegex(TypeError, f"^{name}: "):
                call()
        for time in "", "0s", 0:
            with self.assertRaisesRegex(tril.Error, f"^time: '?{time}'? is not a "):
                tril.train(TEXT, "bigram", time=time, epochs=0.1)

    def test_options(self):
        names = set(inspect.signature(tril.train).parameters)
        shown = dict(re.findall(r" --([a-z-]+)(?: [A-Z]+)?  +(.*(?:\n {26}.*)*)", program("train", "--help")))
        self.assertLess({"layers", "learning_rate", "seed", "on_step"}, names)
        for name in tril.Options._fields[1:]:
            same = shown[{"held_out": "val", "learning_rate": "lr"}.get(name, name.replace("_", "-"))]
            self.assertIn(name, names)
            self.assertIn(f"  {name}: {' '.join(same.split())}\n".replace("--", ""), tril.train.__doc__ + "\n")

    def test_effects(self):
        for name, rung, given in (("layers", "bigram", {"layers": 2}), ("heads", "head", {"heads": 2}),
                                  ("kv-heads", "gpt", {"kv_heads": 2}), ("dropout", "multihead", {"dropout": 0.1}),
                                  ("epochs", "gpt", {"epochs": 2, "steps": 5}),
                                  ("epochs", "gpt", {"epochs": 2, "preset": "quick"})):
            self.fails("argument", f"{name} has no effect", lambda: tril.train(TEXT, rung, **given))
        self.fails("argument", "dropout has no effect", lambda: training_of(untrained("multihead"), dropout=0.1))
        self.fails("argument", "epochs has no effect", lambda: training_of(epochs=2))
        for rung, name in ("bigram", "width"), ("gpt", "kv_heads"):
            self.fails("argument", "has no effect", lambda: tril.Model(tril.Tokenizer(TEXT), rung, **{name: 1 << 5}))
            again = tril.Model(tril.Tokenizer(TEXT), **tril.Model(tril.Tokenizer(TEXT), rung).sizes._asdict())
            self.assertEqual(again.sizes.rung, rung)
        self.assertTrue(small(epochs=0))

    def test_wrong_arguments(self):
        model, training = small(), training_of()
        reading, tokenizer = model.read("THE"), model.tokenizer
        wrong = {
            tril.train: [{"rung": 3}, {"precision": 3}, {"precision": b"f32"}, {"bytes": "no"}, {"steps": "a"}, {"width": "a"}, {"stepz": 1},
                         {"hidden": 8}, {"layers": (1 << 32) + 1}, {"steps": 10.5}, {"dropout": "0.1"}, {"batch": "4"},
                         {"seed": 2.0}, {"time": "soon"}, {"time": 1, "steps": 3}, {"preset": "none"}],
            model.generate: [{"length": -1}, {"length": 1 << 63}, {"length": 9.0}, {"length": 1, "top_k": (1 << 32) + 1},
                             {"length": 1, "seed": -1}, {"length": 1, "seed": 1 << 64}, {"precision": 8}, {"precision": ""},
                             {"precision": "f32\0"}],
            model.score: [{"threads": 1 << 32}, {"precision": "f8"}], model.read: [{"threads": 1.0}], model.extended: [{"seed": -1}]}
        calls = [functools.partial(call, TEXT, **words) for call, several in wrong.items() for words in several]
        calls += [functools.partial(call, *words) for call, *words in (
            (model.texts, 1 << 64), (reading.expected, 0, -1), (tokenizer.decode, [(1 << 32) + 1]), (tokenizer.decode, [1.5]),
            (tokenizer.decode, ["1"]), (reading.attention, 1 << 32, 0), (reading.attention, 0, None), (tril.Model, tokenizer, ""),
            (tril.Model, model), (tril.Model, None), (tril.Training, tokenizer, TEXT), (model.save, "a\0b"),
            (training.set_steps, 2.0), (training.set_steps, 1 << 32), (training.set_steps, None), (training.evaluate, -1))]
        calls += [functools.partial(training.run, seconds=seconds) for seconds in (math.nan, "1")]
        for call in calls:
            with self.assertRaises((TypeError, ValueError, OverflowError, tril.Error), msg=str(call)):
                call()
        for call in model.score, tril.Tokenizer, tril.train:
            for text in 5, ["a"], open(os.devnull, "rb"):
                with contextlib.closing(text) if hasattr(text, "close") else contextlib.nullcontext():
                    with self.assertRaisesRegex(TypeError, r"pathlib\.Path.* not (int|list|Buffered)"):
                        call([text, text] if call is tril.train else text)
        with self.assertRaisesRegex(TypeError, r"tril\.Model\b.*\bPosixPath\b.*Model\.load"):
            tril.train(TEXT, init=PATH)
        with self.assertRaises(TypeError):
            model.weights[WTE] = model.weights[WTE]  # which would change nothing
        self.assertEqual(len(model.generate(length=True, seed=(1 << 64) - 1)), 1)
        if numpy is not None:
            self.assertEqual(model.tokenizer.decode(numpy.array([1, 2])), model.tokenizer.decode([1, 2]))
            self.assertEqual(len(model.generate(length=numpy.int64(2))), 2)
            ids = model.tokenizer.encode(TEXT)
            self.assertEqual((ids.dtype, model.tokenizer.decode(ids)), (numpy.int32, TEXT))
            self.assertEqual(model.score(numpy.frombuffer(TEXT.encode(), numpy.uint8)), model.score(TEXT))
            with self.assertRaises(TypeError):
                model.score(ids)

    def test_copies(self):
        model = small()
        for thing in model, model.tokenizer, model.read("THE"), training_of(model):
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, f"tril.{type(thing).__name__} "):
                    make(thing)

    def test_lines(self):
        model = small("modern")
        reading = model.read("THE FOREST", trace=True)
        self.assertEqual((reading.skipped, model.read("THE FOREST AND THE SEA").skipped), (0, 6))
        weights, lines = reading.attention(0, 1), reading.lines()
        self.assertEqual((tuple(weights.shape), tuple(reading.logits.shape)), ((10, 10), (10, len(model.tokenizer))))
        self.assertAlmostEqual(sum(weights[9, column] for column in range(10)), 1, places=5)
        self.assertEqual(lines[-1].output[9, 3], reading.logits[9, 3])
        query, key, _ = next(line for line in lines if line.operation == "attention").inputs
        scores = [sum(query[9, c] * key[s, c] for c in range(8, 16)) / math.sqrt(8) for s in range(10)]  # head 1
        self.assertAlmostEqual(weights[9, 4], math.exp(scores[4]) / sum(map(math.exp, scores)), places=4)
        x, y, matrix = lines[-1].inputs[0], lines[-1].output, model.weights[lines[-1].weights[0]]
        self.assertAlmostEqual(sum(x[9, c] * matrix[5, c] for c in range(16)), y[9, 5], places=4)
        self.assertTrue(all(line.title and line.equation for line in lines))
        self.fails("argument", "trace=True", model.read("THE FOREST").lines)
        with self.assertRaises((TypeError, ValueError)):
            y[9, 5] = 1
        alive = weakref.ref(reading._owner)
        del reading, lines, x, y, weights
        gc.collect()
        self.assertEqual(alive() is None, numpy is None)  # it lives as long as its arrays
        del query, key, _
        gc.collect()
        self.assertIsNone(alive())

    def test_expected(self):
        model = small()
        reading, V = model.read("THE FOREST"), len(model.tokenizer)
        likely = reading.expected(3, V)
        self.assertEqual(likely, sorted(likely, key=lambda one: -one[1]))
        e = {model.tokenizer.decode([i]): math.exp(reading.logits[3, i]) for i in range(V)}
        self.assertTrue(all(abs(e[one] / sum(e.values()) - p) < 1e-6 for one, p in likely))
        self.assertEqual(reading.expected(), reading.expected(9))
        self.assertEqual(reading.expected(top_k=1)[0][1], 1)
        for without_effect in "length", "seed", "counts":
            self.assertRaises(TypeError, reading.expected, **{without_effect: 1})
        with self.assertRaises(IndexError):
            reading.expected(10)
        expected = reading.expected()
        model.close()
        self.assertEqual((reading.expected(), tuple(reading.logits.shape)), (expected, (10, V)))

    def test_more_characters(self):
        other, model, few = "Übermut " * 30, small(), {**FEW, "steps": 3}
        extended = model.extended(other)
        self.assertEqual(len(extended.tokenizer), len(model.tokenizer) + 1)
        with tril.Training(extended, other, **few) as training:
            training.run()
        self.assertEqual(tril.train(other, init=model, **few).digest, extended.digest)
        self.assertNotEqual(model.extended(other, seed=1).digest, model.extended(other, seed=2).digest)

    def test_init(self):
        latin, few = b"caf\xe9 bar\n" * 50, {**FEW, "steps": 2}
        of_bytes, base = (tril.train(text, "gpt", bytes=b, **SIZES, **few) for text, b in ((latin, True), (TEXT, False)))
        tril.train([latin, TEXT], init=of_bytes, **few)
        tril.train(TEXT, init=base, **few, width=16)
        tril.train(TEXT, init=small("modern"), **few, kv_heads=2)
        for wrong in {"rung": "modern"}, {"width": 32}, {"kv_heads": 1}, {"bytes": True}, {"preset": "quick"}:
            self.fails("argument", *wrong, lambda: tril.train(TEXT, init=base, **few, **wrong))


class Tokenizers(Case):
    def test_ids(self):
        tokenizer, of_bytes = tril.Tokenizer("naïve 中\n"), tril.Tokenizer(None)
        for each in tokenizer, of_bytes:
            self.assertEqual(each.decode(each.encode("中 naïve")), "中 naïve")
        self.assertEqual((len(tokenizer), list(of_bytes.encode(b"\xff\x00"))), (8, [255, 0]))


class Trainings(Case):
    def test_time(self):
        with training_of(steps=10**6) as training:
            self.assertTrue(training.run(seconds=0.2))
            self.assertLess(training.done, 10**6)
            self.assertTrue(training.run(seconds=5, on_step=lambda step: training.set_steps(training.done)))
        self.assertTrue(tril.train(TEXT, "bigram", time="1s", epochs=0.1, on_step=lambda step: self.assertLess(step.steps, 1000)))
        with unittest.mock.patch("tril.clock.monotonic", lambda: 5.0), training_of(steps=9) as training:  # it stands still
            self.assertFalse(training.run(lambda step: step.step < 3, seconds=1))

    def test_preset(self):
        self.assertIn("quick", tril.presets())
        self.assertEqual(tril.train(TEXT, preset="quick", steps=1, rung="gpt").sizes[:4], ("gpt", 2, 3, 96))

    def test_progress(self):
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            small(progress=True)
            self.assertEqual("10/10 " in shown.getvalue(), tqdm is not None)
            before = shown.getvalue()
            small()  # not in a notebook
        self.assertEqual(shown.getvalue(), before)

    def test_closing_in_any_order(self):
        def noting(name, release):
            return lambda: (order.append(name), release())

        model, order = untrained(), []
        training, reading = training_of(model), model.read("THE")
        for name, thing in ("model", model), ("training", training), ("reading", reading):
            thing._owner._release = noting(name, thing._owner._release)
        training.itself = training, reading  # only the collector releases them, and what they use
        del model, training, reading, thing
        gc.collect()
        self.assertEqual((len(order), order[-1]), (3, "model"))

    def test_closing_at_the_end(self):
        self.assertEqual(script("""import functools, os, tril
lent = tril._Owner(functools.partial(os.write, 1), b"lent ", [])
user = tril._Owner(functools.partial(os.write, 1), b"user ", [lent])
user.itself = user, lent"""), "user lent ")

    def test_reloaded(self):
        self.assertIn("reloaded", script("""import importlib, tril
before = tril.Tokenizer("ab")
importlib.reload(tril)  # as in a notebook
assert len(tril.Tokenizer("abc")) == 3
try:
    len(before)
except TypeError as error:
    print(error)"""))

    def test_stop_and_go_on(self):
        model, seen = untrained(), []
        with training_of(model, 3) as training:
            training.set_steps(10)
            self.assertFalse(training.run(lambda step: seen.append(step) or step.step < 4))
            self.assertEqual(training.done, 4)
            training.save(self.folder / "state")
            seen.append(training.step())
            self.assertTrue(training.run(seen.append))
            self.assertEqual([(step.step, step.steps, step.loss > 0) for step in seen], [(i, 10, True) for i in range(1, 11)])
            self.assertEqual(training.evaluate(len(TEXT)), training.evaluate())
            self.assertNotEqual(training.evaluate(500), training.evaluate())
            self.assertEqual(training.options.steps, 10)
        with self.assertRaises(tril.Error):
            training.step()
        self.assertEqual(model.digest, small().digest)
        for options in {"nonsense": 1}, {"layers": 2}, {"val": 0.2}:
            with self.assertRaises(TypeError):
                tril.Training.resume(self.folder / "state", TEXT, **options)
        self.fails("argument", "epochs", lambda: tril.Training.resume(self.folder / "state", TEXT, epochs=2))
        with tril.Training.resume(self.folder / "state", TEXT, steps=20, lr=0.01) as longer:
            self.assertEqual((longer.done, longer.options.steps, longer.options.learning_rate), (4, 20, 0.01))
        again = tril.Training.resume(self.folder / "state", TEXT, threads=1)
        again.run()
        self.assertEqual(again.model.digest, model.digest)

    def test_resumed_options(self):
        path = self.folder / "state"
        with training_of(steps=6) as training:
            training.run(lambda step: step.step < 4)
            training.save(path)
            self.fails("argument", "steps: 3 is less than the 4", lambda: training.set_steps(3))
            self.assertTrue(training.run())
        self.fails("argument", "4 steps, more than steps=2", lambda: tril.Training.resume(path, TEXT, steps=2))
        threads = []
        for options in {}, {"threads": 0}, {"threads": 1, "steps": 4}:
            with tril.Training.resume(path, TEXT, **options) as training:
                self.assertEqual((training.done, training.run(lambda step: False)), (4, "steps" in options))
                threads.append(training.options.threads)
        with training_of(threads=None) as training:
            self.assertEqual(threads, [training.options.threads] * 2 + [1])
        self.assertIn("except that threads", tril.Training.resume.__doc__)
        self.assertNotIn("; default", tril.Training.resume.__doc__)

    def test_what_a_callback_raises(self):
        def interrupt(step):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt) as caught:
            small(on_step=interrupt)
        self.assertTrue(caught.exception.model.generate(length=5))

    def test_closed_after_an_error(self):
        model, kept = untrained(), []
        for _ in range(2):
            training = training_of(model, 1)
            training.run()
            try:
                training.step()
            except tril.Error as error:
                kept.append(error)  # as a notebook does, with what its frames hold
            training.close()

    def test_closed_by_its_callback(self):
        for steps in 5, 1:  # the last step, too
            model = untrained()
            training = training_of(model, steps)
            self.fails("argument", "training", lambda: training.run(lambda step: training.close()))
            self.assertTrue(model.generate(length=5))

    def test_model_closed_by_a_callback(self):
        model, written = untrained(), []
        training, expected = training_of(model, 20), training_of(steps=20)
        self.assertTrue(training.run(lambda step: (model.close(), untrained())))
        self.assertTrue(expected.run())
        self.assertEqual(training.evaluate(), expected.evaluate())
        self.fails("argument", "model", lambda: model.digest)
        writer, same = small(), small()
        writer.generate(length=200, on_text=lambda piece: (written.append(piece), writer.close(), untrained()))
        self.assertEqual("".join(written), same.generate(length=200))

    @unittest.skipUnless(hasattr(os, "fork"), "without fork")
    def test_fork(self):
        with training_of(steps=5, threads=2) as training:
            training.step()
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # ends it if it waits for threads that it does not have
                refused = 0
                try:
                    for compute in (training.step, training.run, training.evaluate):
                        with self.assertRaises(tril.Error):
                            compute()
                        refused += 1
                    training.close()
                finally:
                    os._exit(refused != 3)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertTrue(training.run())


class Counts(Case):
    def test_counted(self):
        model = small("ngram")
        length, order = model.counted
        self.assertGreater(length, 10000)
        self.assertGreater(order, 2)
        self.assertEqual(small("gpt").counted, (0, 0))
        self.assertEqual((model.read(TEXT[:9]).match(), small("gpt").read(TEXT[:9]).match()), (order - 1, 0))
        self.assertEqual(model.generate(counts=1), model.generate())
        self.assertNotEqual(model.generate(counts=0), model.generate())


class Failures(Case):
    def test_all_kinds(self):
        model = small()
        self.fails("argument", "'gtp'", lambda: small("gtp"))
        self.fails("argument", " 3 ", lambda: small(heads=3))
        self.fails("text", "'§'", lambda: model.generate("§"))
        self.fails("text", "", lambda: tril.train(""))
        latin = self.folder / "latin"  # the file, or the place in the arguments, is named
        latin.write_bytes(b"caf\xe9\n")
        for call in (lambda: tril.train(latin), lambda: tril.train([PATH, latin]), lambda: tril.train(PATH, val_file=latin),
                     lambda: model.score(latin), lambda: model.extended(latin), lambda: training_of(model, val_file=latin)):
            self.fails("text", f"{latin}: line 1", call)
        self.fails("text", "texts[1]: ", lambda: tril.train([PATH, latin.read_bytes()]))
        self.fails("text", "val_file: ", lambda: tril.train(PATH, val_file="x"))
        self.fails("file", "none", lambda: tril.Model.load("none"))
        self.fails("no_memory", "", lambda: small(layers=256, heads=1, width=1 << 20))
        self.fails("argument", "9", lambda: model.read("THE").attention(0, 9))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job ignores
    unittest.main()
