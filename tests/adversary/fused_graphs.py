#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Part `fused`: chains of stages behind a filter bank on a device. The files, validity and counts
are those of the same graph with --no-fusion, to the bit unless a chain sums floats, and the nodes
agree with their references as `verify` bounds them."""
import json
import random
import shlex

import numpy

import part

TYPES = ("ci4", "ci8", "ci16", "cf16", "cf32")
ORDERS = ("time station pol channel", "station pol time channel", "channel time station pol",
          "station pol channel time")


def chain_of(numbers):
    """Stages behind the filter bank, and whether a sum of floats is among them."""
    chain, is_real, is_float, sums = [], False, True, False
    is_small = False  # Half precision has no numbers above 65504.
    is_mean = False  # Of powers of many samples: a quotient by one that may be 0 has no bound.
    for _ in range(numbers.randrange(1, 5)):
        letter = "" if is_real else "c"
        way = numbers.choice(["quantise", "convert", "power", "gains", "level", "integrate"])
        stage = {"stage": way}
        if way == "quantise" and is_float:
            stage |= {"type": letter + numbers.choice(["i8", "i16"] + ["i4"] * (not is_real)),
                      "scale": 10 ** numbers.uniform(-2, 1)}
            is_float, is_small, is_mean = False, stage["type"] != letter + "i16", False
        elif way == "convert":
            stage["type"] = letter + numbers.choice(["f32"] + ["f16"] * is_small * (not is_real))
            is_float = True
        elif way == "power" and not is_real:
            is_real, is_float, is_small = True, True, False
        elif way == "gains" and is_float:
            stage["gain"] = [numbers.uniform(-2, 2)]
        elif way == "level" and is_mean:
            stage["mean"] = 10 ** numbers.uniform(-1, 2)
        elif way == "integrate" and is_float:
            stage |= {"length": numbers.choice([1, 2, 3, 7, 16, 64, 65, 200]),
                      "average": bool(numbers.randrange(2))}
            sums, is_small, is_mean = True, False, is_real and stage["length"] > 10
        else:
            continue
        chain.append(stage)
    if numbers.randrange(4) == 0:
        chain.append({"stage": "convert", "type": ("" if is_real else "c") + "f64"})
    return chain or [{"stage": "power"}], sums


def graph_of(numbers, chain):
    n_channels = numbers.choice([1 << numbers.randrange(1, 9), 6, 10, 36, 96, 100, 192])
    n_taps = numbers.randrange(1, 12)
    samples = n_channels * (n_taps + numbers.randrange(0, 300)) + numbers.randrange(n_channels)
    samples = min(samples, 20000 + n_channels * n_taps)
    sky = {"stage": "generate", "type": numbers.choice(TYPES), "sample_rate": "1 MHz",
           "centre_frequency": "10 MHz", "samples": samples, "noise": numbers.choice([1, 5, 40]),
           "n_stations": numbers.randrange(1, 5), "n_pols": numbers.randrange(1, 3),
           "start": numbers.randrange(-1000, 1000), "seed": numbers.randrange(1 << 30)}
    if numbers.randrange(2):
        sky["block"] = {"time": numbers.randrange(50, 4000)}
    if numbers.randrange(2):
        sky["invalid"] = [[numbers.choice([-1, 0]), numbers.randrange(samples),
                           numbers.randrange(1, 300)] for _ in range(numbers.randrange(1, 5))]
    stages = {
        "sky": sky,
        "filter": {"stage": "fir", "from": "sky", "n_channels": n_channels, "n_taps": n_taps},
        "spectra": {"stage": "fft", "from": "filter"},
    }
    if numbers.randrange(4) == 0:
        stages["filter"]["hop"] = max(1, n_channels // numbers.choice([2, 4]))
    if numbers.randrange(3) == 0:
        stages["spectra"]["shift"] = True
    if numbers.randrange(5) == 0:
        stages["filter"]["variant"], stages["spectra"]["variant"] = "cuda", "radix-cuda"
    for number, stage in enumerate(chain):
        stages[f"s{number}"] = {"from": list(stages)[-1], **stage}
    stages["out"] = {"stage": "file.sink", "from": list(stages)[-1], "path": "out.npy",
                     "layout": f"[{numbers.choice(ORDERS)}]"}
    return stages


def options_of(numbers):
    given = ["--in-flight", str(numbers.choice([1, 2, 3, 5])),
             "--device-block", str(numbers.choice([4096, 65536, 1 << 20]))]
    return given + ["--poison"] * numbers.randrange(2)


def finding(folder, words, message):
    return part.Finding("wrong", f"(cd {folder}; cornerturn {shlex.join(words)})\n{message}")


def run(folder, words):
    """Runs the graph: the array, its validity, the counts by stage, and the names of its nodes."""
    words = ["run", "--backend", "cuda", *words, "--stats", "json", "graph.yaml"]
    status, output, errors = part.command(words, folder, part.MOST_SECONDS * 2)
    if status and "no variant of" in errors:
        raise part.Refused(errors)
    if status:
        raise finding(folder, words, f"exit status {status}: {errors}")
    nodes = json.loads(output)["nodes"]
    counts = {}
    for node in nodes:
        for key, count in node["counters"].items():
            name = key if "." in key else f"{node['name']}.{key}"
            counts[name] = counts.get(name, 0) + count
    beside = json.loads((folder / "out.npy.json").read_text())
    return numpy.load(folder / "out.npy"), beside["validity"], counts, nodes


def same(fused, plain, sums):
    if not sums:
        return fused.tobytes() == plain.tobytes()
    # A sum of at most 200 values, in two orders, in single precision, and in half precision after.
    close = 1e-3 if fused.dtype.itemsize <= 4 and fused.dtype.kind == "V" else 200 * 2.0 ** -23
    fused, plain = (array.astype(complex if array.dtype.kind == "c" else float)
                    for array in (fused, plain))
    return bool((abs(fused - plain) <= close * abs(plain).max(initial=0)).all())


def one(seed, folder):
    numbers = random.Random(seed)
    chain, sums = chain_of(numbers)
    stages, options = graph_of(numbers, chain), options_of(numbers)
    (folder / "graph.yaml").write_text(json.dumps({"stages": stages}, indent=1))
    fused, valid, counts, nodes = run(folder, options)
    plain, other_valid, other_counts, other_nodes = run(folder, [*options, "--no-fusion"])
    if len(other_nodes) < len(nodes):
        raise finding(folder, options, f"{len(other_nodes)} nodes without fusion, {len(nodes)} with")
    if valid != other_valid:
        raise finding(folder, options, f"validity is {valid}, without fusion {other_valid}")
    if counts != other_counts:
        raise finding(folder, options, f"counts are {counts}, without fusion {other_counts}")
    if fused.shape != plain.shape or not same(fused, plain, sums):
        raise finding(folder, options, "the file differs from that without fusion")
    words = ["verify", "--backend", "cuda", "graph.yaml"]
    status, output, errors = part.command(words, folder, part.MOST_SECONDS * 2)
    if status:
        raise finding(folder, words, output[-2000:] + errors)


if __name__ == "__main__":
    part.main(one)
