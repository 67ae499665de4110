"""Tests every public function of the module tril under Ctrl-C (extras/python/tests/test). SIGINT comes at twenty moments
of each. KeyboardInterrupt must come, complete calls must have returned what they always return, and the module must work
afterwards; a training run goes on where it was. A function without a call in `Calls` fails the test. TRIL_TEXT is a text."""
import ctypes
import inspect
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

import tril

PATH = pathlib.Path(os.environ["TRIL_TEXT"])
TEXT = PATH.read_text()
SMALL = dict(layers=1, heads=2, width=16, context=16)
MOMENTS = 20
LEAST = 0.002  # seconds: shorter calls are repeated


def public():
    """The names of all functions, methods and properties, and of the classes that can be called."""
    for name in tril.__all__:
        thing = getattr(tril, name)
        if not inspect.isclass(thing):
            yield name
        elif issubclass(thing, tril._Object):
            yield name
            yield from (f"{name}.{own}" for base in thing.__mro__[:-1] for own in vars(base)
                        if not own.startswith("_") and (callable(getattr(thing, own)) or isinstance(vars(base)[own], property))
                        or own in ("__len__", "__repr__", "__exit__"))


class Calls:
    """A call for each name, as a function without arguments whose result is compared."""

    def __init__(self, folder):
        training = dict(steps=30, batch=4, precision="f32", threads=1)
        self.model = model = tril.train(TEXT, "modern", **SMALL, **{**training, "steps": 5})
        self.path, written, state = folder / "model", folder / "written", folder / "state"
        model.save(self.path)
        tokenizer, reading = model.tokenizer, model.read("THE CLOCK", trace=True)
        self.writer = tril.Model(tokenizer, **SMALL)  # which is trained at once
        self.training = tril.Training(tril.Model(tokenizer, "gpt", **SMALL), TEXT, **training)
        self.training.step()
        self.training.save(state)

        def model_saved():
            model.save(written)
            return written.read_bytes()

        def resumed(use=lambda training: None, path=state):
            with tril.Training.resume(path, TEXT, threads=1) as training:
                return use(training), training.done, training.model.digest

        def saved():
            self.training.save(written)
            return resumed(path=written)

        def closed(thing):
            with thing:
                return str(thing)

        self.table = {
            "presets": tril.presets, "rungs": tril.rungs, "version": tril.version,
            "train": lambda: tril.train(TEXT, "gpt", **SMALL, **training).digest,
            "Model": lambda: tril.Model(tokenizer, "gpt", **SMALL).digest,
            "Model.counted": lambda: model.counted, "Model.digest": lambda: model.digest, "Model.loss": lambda: model.loss,
            "Model.extended": lambda: model.extended("§¶").digest,
            "Model.generate": lambda: model.generate("THE", length=50, threads=1),
            "Model.load": lambda: tril.Model.load(self.path).digest, "Model.note": lambda: model.note("step"),
            "Model.parameters": lambda: model.parameters, "Model.read": lambda: model.read("THE CLOCK", trace=True).loss,
            "Model.save": model_saved, "Model.score": lambda: model.score(TEXT, threads=1),
            "Model.sizes": lambda: model.sizes, "Model.texts": lambda: self.writer.texts(3, "THE", length=30, threads=1),
            "Model.tokenizer": lambda: len(model.tokenizer),
            "Model.weights": lambda: {name: memoryview(w).tobytes() for name, w in model.weights.items()},
            "Reading": lambda: len(tril.Reading(model, "THE CLOCK")),
            "Reading.attention": lambda: memoryview(reading.attention(0, 1)).tolist(),
            "Reading.expected": reading.expected, "Reading.loss": lambda: reading.loss, "Reading.match": reading.match,
            "Reading.lines": lambda: [line.equation for line in reading.lines()],
            "Reading.logits": lambda: memoryview(reading.logits).tolist(),
            "Reading.skipped": lambda: reading.skipped, "Tokenizer": lambda: len(tril.Tokenizer(TEXT)),
            "Tokenizer.encode": lambda: list(tokenizer.encode(TEXT)), "Tokenizer.decode": lambda: tokenizer.decode([1, 2, 3] * 99),
            "Training": lambda: tril.Training(model, TEXT, **training).done,
            "Training.cool_down": lambda: resumed(tril.Training.cool_down), "Training.done": lambda: self.training.done,
            "Training.evaluate": self.training.evaluate, "Training.options": lambda: str(self.training.options),
            "Training.resume": resumed, "Training.run": lambda: resumed(tril.Training.run), "Training.save": saved,
            "Training.set_steps": lambda: self.training.set_steps(30),
            "Training.step": lambda: resumed(lambda training: training.step().loss),
        }
        for name, make in ("Model", lambda: tril.Model.load(self.path)), ("Reading", lambda: model.read("THE")), \
                ("Tokenizer", lambda: tril.Tokenizer(TEXT)), ("Training", lambda: tril.Training(model, TEXT, **training)):
            self.table.update({f"{name}.close": lambda make=make: make().close(), f"{name}.__exit__": lambda make=make: closed(make()),
                               f"{name}.__repr__": lambda make=make: str(make())})
        self.table.update({"Reading.__len__": lambda: len(reading), "Tokenizer.__len__": lambda: len(tokenizer)})

    def works(self):
        """Results that must be the same before and after an interrupt."""
        return (tril.Training(self.writer, TEXT, steps=1).done, self.model.digest, self.model.generate("THE", length=5, threads=1), tril.Model.load(self.path).digest,
                self.training.done)


def interrupt(call, after):
    """Calls again and again, until Ctrl-C comes after these seconds. Returns the results of the complete calls."""
    ready, results = threading.Event(), []

    def press():
        ready.wait()
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    try:
        ready.set()
        while presser.is_alive() or len(results) < 2:
            results.append(call())
        time.sleep(1)  # Python handles a signal a little later
    except KeyboardInterrupt:
        presser.join()
        return results
    raise AssertionError("Ctrl-C was lost")


def check_training():
    """A training run that is interrupted again and again takes each step once, and ends with the same weights."""
    def run():
        if training.done < 3000:
            training.run(lambda step: seen.append(step.step))

    options, seen, interrupts = dict(batch=4, precision="f32", threads=1), [], 0
    model = tril.Model(tril.Tokenizer(TEXT), "gpt", **SMALL)
    with tril.Training(model, TEXT, steps=3000, **options) as training:
        while training.done < 3000:
            interrupt(run, 0.001 * random.random())  # also a fast machine takes few steps
            interrupts += 1
            assert seen == list(range(1, training.done + 1))
    assert interrupts > 10 and model.digest == tril.train(TEXT, "gpt", steps=3000, **SMALL, **options).digest


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job ignores
    sys.setswitchinterval(1e-5)
    with tempfile.TemporaryDirectory() as folder:
        calls, begun, names = Calls(pathlib.Path(folder)), time.monotonic(), sorted(set(public()))
        healthy = calls.works()
        for name in names:
            call = calls.table[name]  # a new function needs a call
            expected, start = call(), time.perf_counter()
            call()
            longest = max(LEAST, time.perf_counter() - start)
            for moment in range(MOMENTS):
                for result in interrupt(call, (moment + 0.5) / MOMENTS * longest):
                    assert result == expected, f"{name}: {result} is not {expected}"[:1000]
                assert calls.works() == healthy, f"after an interrupt of {name}"
        check_training()
        if os.name == "posix":  # a release that takes two seconds, or until a signal
            for _ in range(MOMENTS):
                interrupt(lambda: tril._Owner(ctypes.CDLL(None).usleep, 2000000, []) and None, 0.02 * random.random())
        print(f"interrupts: {len(names)} functions, {MOMENTS} times Ctrl-C each, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
