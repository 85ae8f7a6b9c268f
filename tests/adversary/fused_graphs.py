#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Part `fused`: chains of stages behind a filter bank, a beamformer or one another on a device, or in front
of a transform, some with a correlator behind them. The files, validity and counts are those of the same graph with --no-fusion,
to the bit unless a chain sums floats, and the nodes agree with their references as `verify` bounds
them."""
import json
import random
import shlex

import numpy

import part

TYPES = ("ci4", "ci8", "ci16", "cf16", "cf32")
ORDERS = ("time station pol channel", "station pol time channel", "channel time station pol",
          "station pol channel time")
BEAM_ORDERS = ("time beam pol", "beam time pol", "beam pol time", "pol time beam")
SKY_ORDERS = ("time station pol", "station pol time", "pol time station")
PAIR_ORDERS = ("time channel baseline pol pol'", "channel time baseline pol pol'")
# Numbers of channels that one kernel takes, besides powers of two.
CHANNELS = (3, 6, 10, 12, 15, 20, 48, 75, 96, 100, 120, 384)
N_BEAMS = (1, 7, 16, 40, 65, 130)


def values_of(numbers, is_real, shape):
    values = numpy.random.default_rng(numbers.randrange(1 << 30)).normal(size=(2, *shape))
    return (values[0] if is_real else values[0] + 1j * values[1]).astype(
        numpy.float32 if is_real else numpy.complex64)


def gains_of(numbers, is_real, path, lengths):
    """Parameters of gains: one for all, or an array at this path along some axes."""
    if numbers.randrange(2):
        return {"gain": [numbers.uniform(-2, 2)]}
    axes = numbers.sample(sorted(lengths), numbers.randrange(1, len(lengths) + 1))
    numpy.save(path, values_of(numbers, is_real, [lengths[axis] for axis in axes]))
    return {"gains": path.name, "axes": axes}


def front_of(numbers, folder, lengths):
    """Stages in front of a transform of such a stream."""
    front = []
    for number in range(numbers.randrange(1, 4)):
        if numbers.randrange(3):
            front.append({"stage": "gains"} | gains_of(numbers, False, folder / f"front{number}.npy",
                                                       lengths))
        else:
            front += [{"stage": "convert", "type": "cf64"}, {"stage": "convert", "type": "cf32"}]
    return front


def stokes_of(numbers, lengths):
    """Stokes parameters of a stream with axes of these lengths, which become those of the
    parameters."""
    del lengths["pol"]
    parameters = numbers.choice(["I", "IQUV"])
    lengths["stokes"] = len(parameters)
    feed = {"feed": "circular"} if parameters == "IQUV" and numbers.randrange(2) else {}
    return {"stokes": parameters, **feed}


def chain_of(numbers, folder, lengths):
    """Stages behind a stream with axes of these lengths, which become those of the last one's, and
    whether a sum of floats is among them."""
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
            if lengths["pol"] == 2 and numbers.randrange(4):
                stage |= stokes_of(numbers, lengths)
        elif way == "gains" and is_float:
            stage |= gains_of(numbers, is_real, folder / f"gains{len(chain)}.npy", lengths)
        elif way == "level" and is_mean:
            stage["mean"] = 10 ** numbers.uniform(-1, 2)
        elif way == "integrate" and is_float:
            stage |= {"length": numbers.choice([1, 2, 3, 7, 16, 24, 64, 65, 200]),
                      "average": bool(numbers.randrange(2))}
            sums, is_small = True, False
            is_mean = is_real and stage["length"] > 10 and lengths.get("stokes", 1) == 1
        else:
            continue
        chain.append(stage)
    if numbers.randrange(4) == 0:
        chain.append({"stage": "convert", "type": ("" if is_real else "c") + "f64"})
    return chain or [{"stage": "power"}], sums


def bank_of(numbers, folder, lengths):
    """The samples of a sky with other axes of these lengths, the stages of a filter bank behind it, and
    the axes of its output."""
    n_channels = numbers.choice([1 << numbers.randrange(1, 9), numbers.choice(CHANNELS)])
    n_taps = numbers.randrange(1, 12)
    samples = n_channels * (n_taps + numbers.randrange(0, 300)) + numbers.randrange(n_channels)
    samples = min(samples, 20000 + n_channels * n_taps)
    stages = {
        "filter": {"stage": "fir", "from": "sky", "n_channels": n_channels, "n_taps": n_taps},
        "spectra": {"stage": "fft", "from": "filter"},
    }
    if numbers.randrange(4) == 0:
        stages["filter"]["hop"] = max(1, n_channels // numbers.choice([2, 3, 4]))
    if numbers.randrange(3) == 0:
        stages["spectra"]["shift"] = True
    if numbers.randrange(5) == 0:
        stages["filter"]["variant"], stages["spectra"]["variant"] = "cuda", "radix-cuda"
    if numbers.randrange(4) == 0:
        stages["spectra"]["variant"] = "radix-cuda"
        front = front_of(numbers, folder, lengths | {"phase": n_channels})
        inner = {f"f{number}": stage for number, stage in enumerate(front)}
        for before, name in zip(["filter", *inner], [*inner, "spectra"]):
            (inner | stages)[name]["from"] = before
        stages = {"filter": stages["filter"], **inner, "spectra": stages["spectra"]}
    return samples, stages, {"channel": n_channels}


def beams_of(numbers, folder, n_stations, n_pols):
    """The same of a beamformer."""
    n_beams, samples = numbers.choice(N_BEAMS), numbers.randrange(1, 1500)
    pols = [n_pols] * numbers.randrange(2)
    weights = values_of(numbers, False, [n_beams, n_stations, *pols])
    numpy.save(folder / "weights.npy", weights)
    variant = "mma-cuda" + numbers.choice(["", "", ":warps=1", ":columns=64", ":beams=32"])
    beams = {"stage": "beamform", "from": "sky", "weights": "weights.npy",
             "weights_as": numbers.choice(["ci8", "cf16"]), "variant": variant}
    return samples, {"beams": beams}, {"beam": n_beams}


def correlator_of(numbers):
    """A chain that ends with a correlator, which may read blocks of time."""
    return [{"stage": "quantise", "type": numbers.choice(["ci4", "ci8"]),
             "scale": 10 ** numbers.uniform(-2, 1)},
            {"stage": "correlate", "integration": numbers.choice([1, 7, 16, 50, 100, 1000])}]


def cut_samples(samples, bank, integration):
    """At most so many samples that some thousand sums are made, of all channels together: the emulator
    takes as long for a short one as for one of 128 spectra."""
    n_channels, n_taps = bank["n_channels"], bank["n_taps"]
    n_sums = max(3, 2000 // n_channels)
    hops = n_sums * integration * bank.get("hop", n_channels)
    return min(samples, n_channels * n_taps + hops)


def graph_of(numbers, folder):
    """A graph, and whether a sum of floats is in it."""
    n_stations, n_pols = numbers.randrange(1, 5), numbers.randrange(1, 3)
    kind = numbers.choice(["bank", "bank", "bank", "beams", "beams", "sky", "correlator"])
    if kind == "correlator":
        n_stations = numbers.choice([2, 5, 9, 17])
    if kind == "beams":
        samples, first, lengths = beams_of(numbers, folder, n_stations, n_pols)
    elif kind == "sky":
        samples, first, lengths = numbers.randrange(1, 5000), {}, {}
    else:
        others = {"station": n_stations, "pol": n_pols}
        samples, first, lengths = bank_of(numbers, folder, others)
    lengths |= {"pol": n_pols} | ({"station": n_stations} if kind != "beams" else {})
    chain, sums = ((correlator_of(numbers), False) if kind == "correlator" else
                   chain_of(numbers, folder, lengths))
    if kind == "correlator":
        samples = cut_samples(samples, first["filter"], chain[-1]["integration"])
    types = ("ci4", "ci8") if kind == "beams" else ("cf32",) if kind == "sky" else TYPES
    sky = {"stage": "generate", "type": numbers.choice(types), "sample_rate": "1 MHz",
           "centre_frequency": "10 MHz", "samples": samples, "noise": numbers.choice([1, 5, 40]),
           "n_stations": n_stations, "n_pols": n_pols,
           "start": numbers.randrange(-1000, 1000), "seed": numbers.randrange(1 << 30)}
    if numbers.randrange(2):
        sky["block"] = {"time": numbers.randrange(50, 4000)}
    if numbers.randrange(2):
        sky["invalid"] = [[numbers.choice([-1, 0]), numbers.randrange(samples),
                           numbers.randrange(1, 300)] for _ in range(numbers.randrange(1, 5))]
    stages = {"sky": sky, **first}
    for number, stage in enumerate(chain):
        stages[f"s{number}"] = {"from": list(stages)[-1], **stage}
    orders = {"beams": BEAM_ORDERS, "sky": SKY_ORDERS, "correlator": PAIR_ORDERS}.get(kind, ORDERS)
    order = numbers.choice(orders)
    stages["out"] = {"stage": "file.sink", "from": list(stages)[-1], "path": "out.npy",
                     "layout": f"[{order.replace('pol', 'stokes') if 'stokes' in lengths else order}]"}
    return stages, sums


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


def variants_of(nodes):
    """Options for the variants of a filter bank as these nodes have them: others round otherwise, and
    the plan without fusion may be better with those."""
    return [word for node in nodes for name in node["name"].split("+") if name in ("filter", "spectra")
            for word in ("--variant", f"{name}={node['variant']}")]


def same(fused, plain, sums, rounds):
    if not sums:
        return fused.tobytes() == plain.tobytes()
    # Few of the sums are so close to the middle between two levels that one order of adding gives
    # the upper one, and the other order the lower one.
    most = max(1, fused.size // 1000) if rounds else 0
    # A sum of at most 200 values, in two orders, in single precision, and in half precision after.
    close = 1e-3 if fused.dtype.itemsize <= 4 and fused.dtype.kind == "V" else 200 * 2.0 ** -23
    fused, plain = (array.astype(complex if array.dtype.kind == "c" else float)
                    for array in (fused, plain))
    return bool((abs(fused - plain) > close * abs(plain).max(initial=0)).sum() <= most)


def one(seed, folder):
    numbers = random.Random(seed)
    stages, sums = graph_of(numbers, folder)
    options = options_of(numbers)
    (folder / "graph.yaml").write_text(json.dumps({"stages": stages}, indent=1))
    fused, valid, counts, nodes = run(folder, options)
    plain, other_valid, other_counts, other_nodes = run(
        folder, [*options, "--no-fusion", *variants_of(nodes)])
    if len(other_nodes) < len(nodes):
        raise finding(folder, options, f"{len(other_nodes)} nodes without fusion, {len(nodes)} with")
    if valid != other_valid:
        raise finding(folder, options, f"validity is {valid}, without fusion {other_valid}")
    if counts != other_counts:
        raise finding(folder, options, f"counts are {counts}, without fusion {other_counts}")
    rounds = any(stage["stage"] == "quantise" for stage in stages.values())
    if fused.shape != plain.shape or not same(fused, plain, sums, rounds):
        raise finding(folder, options, "the file differs from that without fusion")
    words = ["verify", "--backend", "cuda", "graph.yaml"]
    status, output, errors = part.command(words, folder, part.MOST_SECONDS * 2)
    if status:
        raise finding(folder, words, output[-2000:] + errors)


if __name__ == "__main__":
    part.main(one)
