#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Part `faults`: the nth call of the C library fails, under every command, on small graphs.

A run must end without a signal. Either its status is 0 and its results are those of a run without
the fault, or its status is another one, there is a message, and every file under a final name is
whole. If GLib or FFTW finds no memory for something small, it aborts; even then, files under final
names must be whole."""
import errno
import functools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

import numpy

import part

LIBRARY = os.environ["ADVERSARY_FAULT_LIBRARY"]
MOST_SECONDS = 30
# A larger piece of memory is a block or a table; if there is none for it, that must be an error.
LARGEST_ABORT = 32768
ALLOCATIONS = ("malloc", "calloc", "realloc", "memalign")
# The possible failures of calls: an errno, or −1, with which they transfer half.
FAILURES = {
    "open": (errno.EACCES, errno.EMFILE, errno.ENOSPC, errno.EINTR, errno.EIO),
    "fopen": (errno.EMFILE, errno.EACCES), "opendir": (errno.EMFILE, errno.EACCES),
    "read": (errno.EIO, errno.EINTR, -1), "pread": (errno.EIO, errno.EINTR, -1),
    "write": (errno.ENOSPC, errno.EIO, errno.EINTR, -1),
    "pwrite": (errno.ENOSPC, errno.EIO, errno.EINTR, errno.EDQUOT, -1),
    "writev": (errno.ENOSPC, -1), "lseek": (errno.EINVAL,), "fstat": (errno.EIO,),
    "ftruncate": (errno.ENOSPC, errno.EIO, errno.EINTR),
    "fallocate": (errno.ENOSPC, errno.EOPNOTSUPP, errno.EINTR), "fsync": (errno.EIO, errno.ENOSPC),
    "close": (errno.EIO, errno.ENOSPC), "rename": (errno.EACCES, errno.ENOSPC, errno.EIO),
    "unlink": (errno.EACCES,), "mkdir": (errno.EACCES, errno.ENOSPC),
    "mmap": (errno.ENOMEM, errno.ENODEV), "msync": (errno.EIO,),
    "pthread_create": (errno.EAGAIN,),
    **{name: (errno.ENOMEM,) for name in ALLOCATIONS},
}

SKY = {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "centre_frequency": "10 MHz",
       "samples": 700, "n_stations": 3, "n_pols": 2, "invalid": [[1, 50, 30]],
       "variant": "reference"}
ARRAY = {"stage": "file.source", "path": "in.npy", "layout": "ci8[time station]",
         "sample_rate": "1 MHz", "centre_frequency": "1 MHz"}
FILTER = {"stage": "fir", "n_channels": 8, "n_taps": 3}


def sink(given, path, **more):
    return {"stage": "file.sink", "from": given, "path": path, **more}


GRAPHS = {
    "correlator": {
        "a": SKY, "f": {**FILTER, "from": "a"}, "s": {"stage": "fft", "from": "f"},
        "v": {"stage": "correlate", "from": "s", "integration": 16}, "o": sink("v", "v.npy"),
        "w": sink("v.weights", "w.npy")},
    "slabs": {
        "a": SKY, "c": {"stage": "convert", "type": "cf32", "from": "a"},
        "o": sink("c", "slabs.npy", layout="[station pol time]")},
    "rotated": {
        "a": ARRAY, "p": {"stage": "power", "from": "a"},
        "o": sink("p", "p-%i.npy", rotate_samples=99),
        "s": {"stage": "sigproc.sink", "from": "t", "path": "s-%i.fil", "rotate_time": "0.2 ms"},
        "t": {"stage": "generate", "type": "f32", "sample_rate": "1 MHz", "samples": 700,
              "first_frequency": "1 MHz"}},
    "recorders": {
        "a": {**ARRAY, "epoch": 1656466200},
        "b": {"stage": "file.source", "path": "in.npy", "layout": "i8[time subband pol]",
              "sample_rate": "1 MHz"},
        "d": {"stage": "dada.sink", "from": "b", "path": "d-%i.dada", "rotate_samples": 200},
        "g": {"stage": "guppi.sink", "from": "a", "path": "g-%i.raw", "block_samples": 90,
              "rotate_samples": 180},
        "v": {"stage": "vdif.sink", "from": "a", "path": "v-%i.vdif", "threads": "station",
              "frame_samples": 20, "rotate_samples": 200}},
    "array": {
        "a": ARRAY, "p": {"stage": "power", "from": "a"},
        "i": {"stage": "integrate", "from": "p", "length": 7}, "o": sink("i", "i.raw"),
        "t": {"stage": "transpose", "from": "a", "layout": "[station time]"},
        "r": sink("t", "t.npy")},
    "diamond": {
        "a": ARRAY, "d": {"stage": "delay", "from": "a", "constant": ["0 us", "5 us", "9 us"]},
        "c": {"stage": "convert", "type": "cf32", "from": "a"},
        "s": {"stage": "stack", "axis": "beam", "from": ["d", "c"]},
        "g": {"stage": "gains", "gain": [0.5, 1.5], "from": "s"}, "o": sink("g", "g.npy")},
    "beams": {
        "a": ARRAY, "b": {"stage": "beamform", "from": "a", "weights": "weights.npy"},
        "q": {"stage": "quantise", "type": "ci8", "scale": 2, "from": "b"},
        "o": sink("q", "q.npy")},
}
SETTINGS = [word for setting in ("layout=ci8[time station]", "sample_rate=1 MHz", "centre_frequency=1 GHz")
            for word in ("--set", setting)]
COMMANDS = {
    "run": ["run", "--quiet"], "stats": ["run", "--stats", "json"], "check": ["check"],
    "plan": ["plan"], "explain": ["plan", "--explain", "--json"], "verify": ["verify"],
    "inspect": ["inspect", "fir"], "list": ["inspect"],
    "export": ["costs", "--costs", "store.db", "--export", "out.jsonl"],
    "import": ["costs", "--costs", "new.db", "--import", "in.jsonl"],
    "known": ["run", "--quiet", "--costs", "store.db"],
    "svg": ["plan", "--svg"], "show": ["show", "in.npy", "-o", "in.svg", *SETTINGS],
}
WEIGHTS = {"run": 12, "stats": 2, "verify": 3, "known": 3, "show": 4}
WITHOUT_GRAPH = ("inspect", "list", "export", "import", "show")


def fill(folder, graph):
    """Writes the files that a command finds: the graph, its arrays, and measured costs."""
    random_ = numpy.random.default_rng(1)
    numpy.save(folder / "in.npy", random_.integers(-128, 128, (500, 3, 2)).astype(numpy.int8))
    numpy.save(folder / "weights.npy", random_.standard_normal((2, 3)).astype(numpy.complex64))
    (folder / "graph.yaml").write_text(json.dumps({"stages": GRAPHS[graph]}))
    shutil.copy(costs() / "in.jsonl", folder)
    shutil.copy(costs() / "store.db", folder)


@functools.cache
def costs():
    """A folder with a cost database, and the database's lines."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="adversary-costs-"))
    part.at_exit(folder)
    for arguments in (["--measure-ceilings"], ["--export", "in.jsonl"]):
        subprocess.run([part.COMMAND, "costs", "--costs", "store.db", *arguments], cwd=folder,
                       check=True, capture_output=True, env=environment())
    return folder


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if key != "G_DEBUG"}
    return {**kept, "CORNERTURN_CUDA": "off", **more}


def start(folder, command, graph, workers, **more):
    """Runs the command: exit status (None: it did not end in time), output and errors."""
    arguments = list(COMMANDS[command])
    if command not in WITHOUT_GRAPH:
        arguments += ["--workers", str(workers), "graph.yaml"]
    own = environment(LD_PRELOAD=LIBRARY, XDG_CACHE_HOME=str(folder / ".cache"), **more)
    try:
        done = subprocess.run([part.COMMAND, *arguments], cwd=folder, capture_output=True,
                              timeout=MOST_SECONDS, check=False, env=own)
    except subprocess.TimeoutExpired:
        return None, "", "", arguments
    return (done.returncode, done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"), arguments)


def results(folder, given):
    """The files under final names, except those that were there before."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())
            if path.is_file() and path.name not in given and
            not re.search(r"\.partial|^new\.db|^store\.db|^counts$", path.name)}


def same(name, given, wanted, volatile):
    """Whether a result is as without a fault, except for names in JSON whose values always
    differ."""
    if given == wanted:
        return True
    if not name.endswith(".json") or not volatile:
        return False
    try:
        one, other = json.loads(given), json.loads(wanted)
    except ValueError:
        return False
    return all(one.get(key) == other.get(key) for key in (one.keys() | other.keys()) - volatile)


@functools.cache
def clean(command, graph, workers):
    """A run without faults: results, names in JSON whose values differ from run to run, and counts
    of calls."""
    found = []
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="adversary-clean-") as name:
            folder = pathlib.Path(name)
            fill(folder, graph)
            given = {path.name for path in folder.iterdir()}
            status, _, errors, _ = start(folder, command, graph, workers, ADVERSARY_COUNTS="counts")
            if status != 0:
                raise part.Finding("wrong", f"{command} of {graph} without a fault: {errors}")
            lines = (line.split() for line in (folder / "counts").read_text().splitlines())
            counts = {call: int(n) for call, n in lines}
            found.append((results(folder, given), counts))
    (wanted, counts), (again, _) = found
    volatile = set()
    for path, text in wanted.items():
        if text != again[path]:
            one, other = json.loads(text), json.loads(again[path])
            volatile |= {key for key in one if one[key] != other.get(key)}
    return wanted, frozenset(volatile), counts


def choose(numbers, counts):
    """Chooses the call that fails, when it fails and how."""
    calls = [call for call, n in counts.items() if n > 0]
    rare = [call for call in calls if call not in ALLOCATIONS]
    call = numbers.choice(rare if numbers.randrange(3) and rare else calls)
    n = numbers.randrange(1, counts[call] + 1)
    failure = numbers.choice(FAILURES[call])
    # GLib's message for a lack of memory never ends if there is none at all.
    lasts = failure > 0 and failure != errno.EINTR and call not in ALLOCATIONS
    lasting = "+" if lasts and numbers.randrange(3) == 0 else ""
    return call, f"{call}:{n}{lasting}:{'short' if failure < 0 else failure}"


def judge(folder, given, call, status, errors, reference):
    """The verdict and its reason if something is wrong; None: nothing is."""
    wanted, volatile, _ = reference
    there = results(folder, given)
    if status is None:
        return "hang", f"no end within {MOST_SECONDS} s"
    abort = re.search(r"failed to allocate (\d*)|fftw: alloc|during 'malloc'", errors)
    aborted = status in (-5, -6) and call in ALLOCATIONS and abort is not None
    if aborted and int(abort[1] or 0) > LARGEST_ABORT:
        return "crash", f"GLib aborts for want of {abort[1]} bytes"
    if status < 0 and not aborted:
        return "crash", f"signal {-status}: {errors[-2000:]}"
    if not aborted and re.search(r"CRITICAL|WARNING \*\*|Sanitizer|\(null\)", errors):
        return "wrong", f"status {status}, but it says: {errors[-2000:]}"
    for name, bytes_ in there.items():
        if name not in wanted or not same(name, bytes_, wanted[name], volatile):
            return "wrong", f"status {status}, but {name} is not what it must be: {errors}"
    if status == 0 and there.keys() != wanted.keys():
        return "wrong", f"status 0, but {wanted.keys() - there.keys()} are missing: {errors}"
    if status > 0 and not errors.strip():
        return "wrong", f"status {status} without a message"
    # An array's description is written last.
    for name in there:
        if name.endswith(".json") and name[:-5] not in there:
            return "wrong", f"{name} describes what is not there"
    return None


def one(seed, folder):
    numbers = random.Random(seed)
    names = [name for name in COMMANDS for _ in range(WEIGHTS.get(name, 1))]
    command, graph = numbers.choice(names), numbers.choice(list(GRAPHS))
    graph = graph if command not in WITHOUT_GRAPH else "array"
    workers = numbers.choice([1, 1, 2])
    reference = clean(command, graph, workers)
    call, fault = choose(numbers, reference[2])
    fill(folder, graph)
    given = {path.name for path in folder.iterdir()}
    status, _, errors, arguments = start(folder, command, graph, workers, ADVERSARY_FAULT=fault)
    found = judge(folder, given, call, status, errors, reference)
    if found:
        words = f"ADVERSARY_FAULT={fault} LD_PRELOAD={LIBRARY} cornerturn {' '.join(arguments)}"
        raise part.Finding(found[0], f"{words}\n{found[1]}")


if __name__ == "__main__":
    part.main(one)
