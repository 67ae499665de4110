"""tril and ports of microgpt.py train a tiny GPT on a list of names, in turns, on one thread each.

    make
    python3 extras/bench/peers/names.py NAMES [--python FILE] [--c FILE] [--ee FILE] [--width N] [--rounds N]

NAMES has a name in each line. The ports are given as source files: microgpt.py (Karpathy, 2026),
microgpt.c of github.com/vixhal-baraiya/microgpt-c, eemicrogpt.c of github.com/Entrpi/eemicrogpt.
The last one has vectors of ARM; elsewhere it needs SIMDe (libsimde-dev). All have one block, 4
heads, a context of 16 and --width channels. The first two take one name in a step, the other 16,
and tril 16 windows of 16 characters. A position is a character that is predicted, the end of the
name included.

The time of a step is the processor time of a long run minus that of a short one; from that of
tril, whose ./train trains a bigram first, that of the bigram is taken away. A training run of one second, or of
ten, has as many steps as fit, so that its learning rate comes to its end. The loss of a port is
the mean of the last losses that it prints, of the training text; that of tril is of held-out text.
Needs gcc.
"""

import argparse
import csv
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

CONTEXT, BATCH = 16, 16
COMPILER = ["gcc", "-O3", "-march=native", "-ffast-math", "-w"]
CLOCK = """#include <stdint.h>
#include <time.h>
typedef struct { uint32_t numer, denom; } mach_timebase_info_data_t;
static void mach_timebase_info(mach_timebase_info_data_t *t) { t->numer = t->denom = 1; }
static uint64_t mach_absolute_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
"""
# SIMDe below 0.8 lacks three functions.
VECTORS = """#define SIMDE_ENABLE_NATIVE_ALIASES
#include <math.h>
#include <simde/arm/neon.h>
#ifndef vfmsq_f32
#define vfmsq_f32(a, b, c) ((a) - (b) * (c))
#endif
#ifndef vdivq_f32
#define vdivq_f32(a, b) ((a) / (b))
#endif
#ifndef vsqrtq_f32
static inline float32x4_t vsqrtq_f32(float32x4_t x) {
    float lane[4];
    vst1q_f32(lane, x);
    for (int i = 0; i < 4; i++) lane[i] = sqrtf(lane[i]);
    return vld1q_f32(lane);
}
#endif
"""


def timed(command, folder="."):
    """Runs a command. Returns it and its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return done, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class Port:
    """A program that trains for a number of steps and then writes a number of names. `edits` are
    replacements in its source; {steps} and {names} stand for those numbers."""

    def __init__(self, folder, source, suffix, edits, names_in_step, few):
        self.folder, self.suffix, self.edits = folder, suffix, edits
        self.names_in_step, self.few = names_in_step, few
        with open(source, encoding="utf-8") as file:
            self.source = file.read()

    def command(self, steps, names):
        path = f"{self.folder}/port-{steps}-{names}{self.suffix}"
        program = [sys.executable, path] if self.suffix == ".py" else [path + ".bin"]
        if os.path.exists(path):
            return program
        text = self.source
        for pattern, replacement in self.edits:
            text, count = re.subn(pattern, replacement.format(steps=steps, names=names), text)
            assert count > 0, f"{path}: nothing matches {pattern}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if self.suffix != ".py":
            subprocess.run([*COMPILER, "-I", self.folder, "-o", program[0], path, "-lm"], check=True)
        return program

    def run(self, steps, names):
        """Returns the processor's seconds, the mean of the last losses, and the names."""
        done, took = timed(self.command(steps, names), self.folder)
        losses = [float(x) for x in re.findall(r"[Ll]oss[^\n]*?(\d+\.\d+)", done.stdout)]
        written = re.split(r"inference|Generated", done.stdout)[-1].splitlines()[1:]
        last = losses[-1:] if "Avg loss" in done.stdout else losses[-max(1, len(losses) // 10) :]
        return took, statistics.mean(last), [line.split(":")[-1].strip() for line in written]

    def step_seconds(self):
        many = 4 * self.few
        return (self.run(many, 1)[0] - self.run(self.few, 1)[0]) / (many - self.few)

    def loss_after(self, seconds, step):
        return self.run(max(1, int(seconds / step)), 1)[1]

    def characters_a_second(self):
        few, many = (5, 50) if self.suffix == ".py" else (1000, 21000)
        short, long = self.run(1, few), self.run(1, many)
        written = sum(len(name) + 1 for name in long[2]) - sum(len(name) + 1 for name in short[2])
        return written / (long[0] - short[0])


class Tril:
    def __init__(self, folder, names, width):
        self.out, self.names, self.width = f"{folder}/tril", names, width

    def train(self, rung, steps):
        """Returns the processor's seconds and the log."""
        sizes = [f"-c{CONTEXT}", f"-b{BATCH}", "-j1"]
        if rung != "bigram":
            sizes += [f"-w{self.width}", "-l1", "-H4", "-d0"]
        took = timed(["./train", "-q", "-m", rung, *sizes, "--precision=f32",
                      "--patience=1", f"-s{steps}", f"--eval-every={steps}", f"--out={self.out}",
                      self.names])[1]
        with open(f"{self.out}/model.csv", encoding="utf-8") as file:
            return took, list(csv.DictReader(file))

    def step_seconds(self):
        few, many = 500, 2500
        both, bigram = (self.train(rung, many)[0] - self.train(rung, few)[0] for rung in ("gpt", "bigram"))
        return (both - bigram) / (many - few)

    def loss_after(self, seconds, step):
        return float(self.train("gpt", max(1, int(seconds / step)))[1][-1]["val_loss"])

    def characters_a_second(self):
        few, many = 1000, 101000
        short, long = (timed(["./sample", "-j1", f"-n{n}", self.out])[1] for n in (few, many))
        return (many - few) / (long - short)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names")
    parser.add_argument("--python")
    parser.add_argument("--c")
    parser.add_argument("--ee")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with open(options.names, encoding="utf-8") as file:
        text = file.read()
    lengths = [min(CONTEXT, len(line) + 1) for line in text.split()]
    positions = {"tril": BATCH * CONTEXT}
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/mach")
        files = {"names.txt": text, "input.txt": text, "mach/mach_time.h": CLOCK}
        if os.uname().machine not in ("arm64", "aarch64"):
            files["arm_neon.h"] = VECTORS
        for name, content in files.items():
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(content)
        programs = {"tril": Tril(folder, options.names, options.width)}
        width = str(options.width)
        if options.python:
            edits = [(r"n_embd = \d+", f"n_embd = {width}"), (r"num_steps = \d+", "num_steps = {steps}"),
                     (r"range\(20\)", "range({names})")]
            programs["microgpt.py"] = Port(folder, options.python, ".py", edits, 1, 10)
        if options.c:
            edits = [(r"N_EMBD \d+", f"N_EMBD {width}"), (r"BLOCK_SIZE \d+", f"BLOCK_SIZE {CONTEXT}"),
                     (r"num_steps = \d+", "num_steps = {steps}"), (r"si < 20", "si < {names}")]
            programs["microgpt-c"] = Port(folder, options.c, ".c", edits, 1, 1000)
        if options.ee:
            edits = [(r"D_MODEL    \d+", f"D_MODEL {width}"), (r"N_STEPS    \d+", "N_STEPS {steps}"),
                     (r"generate\(model, \d+\)", "generate(model, {names})")]
            programs["EEmicroGPT"] = Port(folder, options.ee, ".ee.c", edits, BATCH, 500)
        for name, program in programs.items():
            if name != "tril":
                positions[name] = program.names_in_step * statistics.mean(lengths)
        steps = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, program in programs.items():
                steps[name].append(program.step_seconds())
        print(f"width {width}, medians of {options.rounds} rounds")
        print(f"{'':12} us/position  loss after 1 s  10 s  characters/s")
        for name, program in programs.items():
            step = statistics.median(steps[name])
            losses = [program.loss_after(seconds, step) for seconds in (1, 10)]
            speed = program.characters_a_second()
            print(f"{name:12} {1e6 * step / positions[name]:11.3f} {losses[0]:15.3f} {losses[1]:5.3f}"
                  f" {speed:13,.0f}", flush=True)


if __name__ == "__main__":
    main()
