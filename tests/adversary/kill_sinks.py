#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills each sink of files at random times of its run, and runs it into full disks of random sizes.

    scripts/kill-sinks [--runs 200] [--disks 20] [--seed N] [--jobs N] [SINK…]

Whatever stands under a final name must be whole. What is partial must open with all samples that
PATH.json.partial counts, which are those of the stream. A run to the same path afterwards must give
all files. Half of the killed runs replace older files, which must then be there as a whole or not
at all. A third of the times are in the last part of the run, when its files are completed; half of
the disks have room for almost all.

One line for each sink counts the runs; the exit status is 1 if one of them was wrong."""
import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import part
import recordings
import sink_cases

OLD, NEW = 2, 1  # seeds of streams
PAGE = 4096
# Of PATH.json, these differ from run to run.
VOLATILE = ("generation", "origin")
MOST_FINDINGS = 5


def fail(message):
    raise part.Finding("wrong", message)


def start(folder, case, inputs, seed, block, command=(), **options):
    (folder / "graph.yaml").write_text(json.dumps({"stages": case.stages(inputs, seed, block)}))
    return subprocess.Popen([*command, part.COMMAND, "run", "--quiet", "graph.yaml"], cwd=folder,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)


def run(folder, case, inputs, seed, block=None):
    """A run that must succeed; its seconds."""
    begin = time.monotonic()
    process = start(folder, case, inputs, seed, block or case.block)
    _, errors = process.communicate(timeout=part.MOST_SECONDS)
    if process.returncode != 0 or errors:
        fail(f"a run to the end: status {process.returncode}, {errors}")
    return time.monotonic() - begin


def read_bytes(path):
    """A file without the time at which it was made."""
    return re.sub(rb"DATE    = '[-0-9T:]{19}'", b"DATE", path.read_bytes()) \
        if path.suffixes[0] == ".sf" else path.read_bytes()


def describe(text):
    """PATH.json, without what differs from run to run."""
    return {key: value for key, value in json.loads(text).items() if key not in VOLATILE}


class Files:
    """The files that a run gives, by name: bytes, what PATH.json says, and samples, [time …]."""

    def __init__(self, case, inputs, seed):
        array = case.put(inputs, seed)
        with tempfile.TemporaryDirectory(prefix="kill-sinks-clean-") as name:
            folder = pathlib.Path(name)
            run(folder, case, inputs, seed)
            self.texts = {path.name: path.read_bytes() for path in folder.glob("out*")}
            self.bytes = {name: read_bytes(folder / name) for name in self.texts}
            names = sorted(name for name in self.bytes if not name.endswith(".json"))
            self.said = {name: describe(self.bytes[f"{name}.json"]) for name in names}
            for said in self.said.values():
                del said["sha256"]
            self.arrays = {name: sink_cases.read_slabs(folder / name, None) for name in names} \
                if not case.source else sink_cases.read(folder, case, names)
        if isinstance(self.arrays, str):
            fail(f"whole files can't be read: {self.arrays}")
        if case.is_lossless:
            joined = np.concatenate([self.arrays[name] for name in names])
            beside = json.loads((inputs / f"in-{seed}.npy.json").read_text())
            beside["axes"][0]["length"] = len(array)
            valid = recordings.find_valid(beside)
            valid = valid.reshape(valid.shape + (1,) * (array.ndim - valid.ndim))
            np.testing.assert_array_equal(joined.reshape(array.shape), array * valid)

    def put(self, folder):
        for name, text in self.texts.items():
            (folder / name).write_bytes(text)


def await_bytes(process, folder, n_bytes, older=()):
    """Waits until the files of a run have so many bytes together, or it has ended. `older` are the
    numbers of files that were there before."""
    def count():
        for path in folder.glob("out*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # it has got its name since then
            if ".json" not in path.suffixes and status.st_ino not in older:
                yield status.st_size
    while process.poll() is None and sum(count()) < n_bytes:
        time.sleep(0.001)


class Reference:
    """What all runs of a case have in common."""

    def __init__(self, case, inputs):
        self.case, self.inputs = case, inputs
        self.old, self.new = Files(case, inputs, OLD), Files(case, inputs, NEW)
        self.n_bytes = sum(len(self.new.bytes[name]) for name in self.new.arrays)
        with tempfile.TemporaryDirectory(prefix="kill-sinks-clean-") as name:
            folder, begin = pathlib.Path(name), time.monotonic()
            process = start(folder, case, inputs, NEW, 1)
            await_bytes(process, folder, self.n_bytes)
            self.last_seconds = -time.monotonic()
            process.communicate(timeout=part.MOST_SECONDS)
            self.last_seconds += time.monotonic()  # from when all bytes are there
            self.seconds = time.monotonic() - begin


# ---- what a run has left ----

def check_whole(folder, reference):
    """Checks the files under final names; returns those that are new."""
    new = set()
    for path in folder.glob("out*"):
        if path.suffix == ".partial":
            continue
        name, text = path.name.removesuffix(".json"), read_bytes(path)
        if path.suffix != ".json":
            versions = [files for files in (reference.old, reference.new)
                        if files.bytes.get(path.name) == text]
            if not versions:
                fail(f"{path.name} is not whole")
            if versions[0] is reference.new:
                new.add(path.name)
            continue
        if not (folder / name).exists():
            fail(f"{path.name} describes what is not there")
        said = describe(text)
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if said.pop("sha256") != digest or said not in (reference.old.said.get(name),
                                                        reference.new.said.get(name)):
            fail(f"{path.name} does not describe its file: {said}")
    return new


def read_partial(folder, case, name, said):
    """The samples of a partial file, [time …]; None: it does not open, and need not."""
    if not case.source:
        return sink_cases.read_slabs(folder / name, said) if said and said["written"] else None
    arrays = sink_cases.read(folder, case, [name])
    if not isinstance(arrays, str):
        return arrays[name]
    if said and said["written"] > 0:
        fail(f"{name} has {said['written']} samples, but does not open: {arrays}")
    if len(arrays.splitlines()) != 1:
        fail(f"{name} does not open, but says: {arrays}")
    return None


def check_samples(case, name, said, array, whole):
    """Checks that the array begins as the whole one does; returns how much of it is there."""
    n_written = case.rows * said["written"] if said else 0
    if not n_written <= len(array) <= len(whole):
        fail(f"{name} has {len(array)} samples of {len(whole)}, but {n_written} are written")
    same = array == whole[:len(array)]
    if case.has_room:
        same[n_written:] |= array[n_written:] == 0
    if not same.all():
        fail(f"{name} has another sample {np.argwhere(~same)[0][0]} than the stream; {n_written} "
             "are written")
    return np.count_nonzero(array) if case.has_room else len(array)


def check_partial(folder, reference):
    """Checks the files under partial names; returns whether they have samples."""
    case, n_samples = reference.case, 0
    for path in folder.glob("out*.partial"):
        if path.name.endswith(".json.partial"):
            continue
        name = path.name.removesuffix(".partial")
        beside = folder / f"{name}.json.partial"
        if not beside.exists():
            fail(f"{path.name} has no {beside.name}")
        text = beside.read_text()
        try:
            said = json.loads(text) if text else None
        except ValueError:
            fail(f"{beside.name} is not whole: {text}")
        if said and "written" not in said:
            if read_bytes(path) != reference.new.bytes[name]:
                fail(f"{beside.name} describes a whole file, but {path.name} is not")
            n_samples += 1
            continue
        array = read_partial(folder, case, path.name, said)
        if array is not None:
            n_samples += check_samples(case, path.name, said, array, reference.new.arrays[name])
    return n_samples > 0


def check(folder, reference):
    """Checks what a run has left, and that another one succeeds; how far it has come."""
    new = check_whole(folder, reference)
    has_samples = check_partial(folder, reference)
    is_whole = new == reference.new.arrays.keys()
    run(folder, reference.case, reference.inputs, NEW)
    if check_whole(folder, reference) != reference.new.arrays.keys() or \
            list(folder.glob("out*.partial")):
        fail(f"a run afterwards leaves {sorted(path.name for path in folder.glob('out*'))}")
    return "whole" if is_whole else "partial" if new or has_samples else "before"


# ---- one run ----

def kill(folder, reference, numbers):
    """Kills a run at a random time."""
    if numbers.randrange(2):
        reference.old.put(folder)
    older = {path.stat().st_ino for path in folder.glob("out*")}
    started = time.monotonic()
    process = start(folder, reference.case, reference.inputs, NEW, 1)
    if numbers.randrange(3):
        wait = numbers.uniform(0, reference.seconds)
    else:
        await_bytes(process, folder, numbers.uniform(0.95, 1) * reference.n_bytes, older)
        wait = numbers.uniform(0, 1.1) * reference.last_seconds
    try:
        process.wait(wait)
        reference.seconds = time.monotonic() - started
    except subprocess.TimeoutExpired:
        reference.seconds = max(reference.seconds, time.monotonic() - started)
    process.kill()
    errors = process.communicate()[1]
    if process.returncode not in (0, -signal.SIGKILL) or errors:
        fail(f"status {process.returncode} before the kill: {errors}")
    return check(folder, reference)


@functools.cache
def can_mount():
    """Whether a file system of a limited size may be mounted here."""
    return shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
        capture_output=True).returncode == 0


def fill(folder, reference, numbers):
    """Runs into a full disk of a random size; where none can be mounted, into the largest length of
    a file."""
    sizes = [len(text) for text in reference.new.bytes.values()]
    pages = sum(-(-size // PAGE) for size in sizes)
    limit = numbers.randrange(1, max(max(sizes), 2))
    room = PAGE * numbers.randrange(numbers.choice([1, max(1, pages - 8)]), pages + 4)
    script = (f"mount -t tmpfs -o size={room} none disk && cp graph.yaml disk && cd disk && "
              "{ \"$@\"; status=$?; cp -a . ../kept; exit $status; }")
    own_disk = ["unshare", "-rm", "sh", "-c", script, "sh"] if can_mount() else []

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    for name in "disk", "kept":
        (folder / name).mkdir()
    process = start(folder if own_disk else folder / "kept", reference.case, reference.inputs, NEW,
                    reference.case.block, own_disk, preexec_fn=None if own_disk else limit_files)
    errors = process.communicate(timeout=part.MOST_SECONDS)[1]
    if process.returncode not in (0, 1) or len(errors.splitlines()) != process.returncode:
        fail(f"a full disk: status {process.returncode}, {errors}")
    if check(folder / "kept", reference) != "whole" and process.returncode == 0:
        fail("a full disk: status 0 without all files")
    return "disk"


def one(way, reference, numbers):
    """The verdict of one run, and the finding."""
    with tempfile.TemporaryDirectory(prefix="kill-sinks-") as name:
        folder = pathlib.Path(name)
        try:
            return way(folder, reference, numbers), ""
        except part.Finding as finding:
            return "wrong", f"{finding.message}\nkept in {part.keep(folder, 'sinks')}"


# ---- all runs of a sink ----

def is_missing(name):
    """Whether the build lacks what the sink needs, as `check` says."""
    graph = {"in": {"stage": "generate"}, "out": {"stage": f"{name}.sink", "from": "in"}}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"stages": graph}, file)
        file.flush()
        done = subprocess.run([part.COMMAND, "check", file.name], check=False, text=True,
                              capture_output=True, timeout=part.MOST_SECONDS)
    return "is not in this build" in done.stderr


class Sink:
    def __init__(self, name, options, seed, inputs):
        self.name, self.options, self.seed, self.inputs = name, options, seed, inputs
        self.counts = collections.Counter()
        self.cases = sink_cases.CASES[name]
        self.references = {}
        self.lock = threading.Lock()

    def reference(self, k):
        """That of a case; the first run of it makes it."""
        with self.lock:
            if k not in self.references:
                folder = self.inputs / f"{self.name}-{k}"
                folder.mkdir()
                self.references[k] = Reference(self.cases[k], folder)
            return self.references[k]

    def run(self, i):
        if self.counts["wrong"] >= MOST_FINDINGS:
            return
        way = kill if i < self.options.runs else fill
        verdict, message = one(way, self.reference(i % len(self.cases)),
                               random.Random(f"{self.seed} {self.name} {i}"))
        self.counts[verdict] += 1
        if message:
            print(f"# {self.name} {i}: " + message.replace("\n", "\n#   "), flush=True)

    def summary(self):
        n = self.counts
        n_killed = n["before"] + n["partial"] + n["whole"]
        return (f"{self.name}: {n_killed} killed ({n['before']} before the first record, "
                f"{n['partial']} partial, {n['whole']} whole), {n['disk']} full disks, "
                f"{n['wrong']} wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="killed runs of each sink")
    parser.add_argument("--disks", type=int, default=20, help="full disks of each sink")
    parser.add_argument("--seed", type=int, help="else at random")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--tap", action="store_true", help="a test of each sink")
    parser.add_argument("sinks", nargs="*", metavar="SINK", help=", ".join(sink_cases.CASES))
    options = parser.parse_args()
    if unknown := set(options.sinks) - sink_cases.CASES.keys():
        parser.error(f"there is no sink {', '.join(sorted(unknown))}")
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    print(f"# seed {seed}", flush=True)
    names = options.sinks or [name for name in sink_cases.CASES if not is_missing(name)]
    n_wrong = 0
    with tempfile.TemporaryDirectory(prefix="kill-sinks-inputs-") as inputs:
        for i, name in enumerate(names):
            sink = Sink(name, options, seed, pathlib.Path(inputs))
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                list(pool.map(sink.run, range(options.runs + options.disks)))
            n_wrong += sink.counts["wrong"]
            prefix = f"{'not ' * (sink.counts['wrong'] > 0)}ok {i + 1} - " if options.tap else ""
            print(prefix + sink.summary(), flush=True)
    if options.tap:
        print(f"1..{len(names)}")
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
