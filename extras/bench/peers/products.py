"""The matrix products of training in tril and in PyTorch (torch.mm, which is MKL's), in turn.

    python3 extras/bench/peers/products.py [--rounds N] [--seconds S] [--threads N]

For each linear layer of the two benchmark models: forward, backward and the gradients of the
weights, in float32. tril packs the weights each time. Prints GFLOP/s, medians over the rounds
(A B A B), and the median of the rounds' ratios; then the ratio over all products of a step, weighted
by their operations. Needs the package torch, and `make`; is no part of `make test`.
"""

import argparse
import os
import statistics
import subprocess
import time

import torch

# tokens of a step, and the layers C -> OC of a block
MODELS = {"C 128, 12 x 64 tokens": (768, [(128, 384), (128, 128), (128, 512), (512, 128)]),
          "C 384, 16 x 256 tokens": (4096, [(384, 1152), (384, 384), (384, 1536), (1536, 384)])}
PRODUCTS = ["forward", "backward", "gradients"]


def in_torch(product, N, C, OC, seconds):
    x, y, w = torch.rand(N, C), torch.rand(N, OC), torch.rand(OC, C)
    out = {"forward": y, "backward": x, "gradients": w}[product]
    a, b = {"forward": (x, w.t()), "backward": (y, w), "gradients": (y.t(), x)}[product]
    torch.mm(a, b, out=out)
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        torch.mm(a, b, out=out)
        count += 1
    return 2 * N * C * OC * count / (time.perf_counter() - begun) * 1e-9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    subprocess.run(["make", "--silent", "build/extras/bench/products"], check=True)
    tril = subprocess.Popen(["build/extras/bench/products", str(options.threads)], text=True, bufsize=1,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def in_tril(product, N, C, OC, seconds):
        tril.stdin.write(f"{product} {N} {C} {OC} {seconds}\n")
        return float(tril.stdout.readline())

    print(f"PyTorch {torch.__version__}, {options.threads} threads, KERNELS={os.environ.get('KERNELS', 'the best')}")
    for model, (N, layers) in MODELS.items():
        print(f"\n{model}\n{'':24}{'tril':>10}{'torch.mm':>10}{'ratio':>8}")
        ratios = [[0.0, 0.0] for _ in range(options.rounds)]  # the seconds of each in a step
        for C, OC in layers:
            for product in PRODUCTS:
                rounds = []
                for i in range(options.rounds):
                    pair = [f(product, N, C, OC, options.seconds) for f in (in_tril, in_torch)]
                    rounds.append(pair)
                    ratios[i] = [s + C * OC / speed for s, speed in zip(ratios[i], pair)]
                own, other = (statistics.median(column) for column in zip(*rounds))
                ratio = statistics.median(a / b for a, b in rounds)
                print(f"{f'{C} -> {OC} {product}':24}{own:10.1f}{other:10.1f}{ratio:8.2f}", flush=True)
        print(f"{'all':44}{statistics.median(b / a for a, b in ratios):8.2f}")
    tril.stdin.close()
    tril.wait()


if __name__ == "__main__":
    main()
