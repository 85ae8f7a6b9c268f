#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The adversary: random runs, each made from a seed, whose results must be right.

    scripts/adversary --runs 20000              20000 runs, shared among all parts
    scripts/adversary --seconds 3600            for an hour
    scripts/adversary --only graphs --seed 17   one part, from seed 17 on; each run has a seed

One line for each part counts the verdicts of its runs; the last line is the total. The exit status
is 1 if a run was wrong, crashed or did not end. Each finding is printed with the command that shows
it and the folder to run it in."""
import argparse
import collections
import json
import os
import pathlib
import queue
import random
import re
import signal
import subprocess
import sys
import threading
import time

from known import KNOWN

HERE = pathlib.Path(__file__).parent
EMULATED = {"CORNERTURN_CUDA": os.environ.get("ADVERSARY_EMULATOR", "off"),
            "CORNERTURN_TEST_BACKEND": "cuda"}
# For each part: its program, its share of the runs, and additions to its environment.
TEST, VARIABLES = "ADVERSARY_TEST", "ADVERSARY_TEST_VARIABLES"
PARTS = {
    "graphs": ("random_graphs.py", 50, {}),
    "program": ("program_graphs.py", 30, {}),
    "graphs-emulated": ("random_graphs.py", 1, EMULATED),
    "graphs-device": ("random_graphs.py", 1, {"CORNERTURN_CUDA": "",
                                              "CORNERTURN_TEST_BACKEND": "cuda"}),
    "fused": ("fused_graphs.py", 1, EMULATED),
    "fused-device": ("fused_graphs.py", 1, {"CORNERTURN_CUDA": ""}),
    "faults": ("faults.py", 30, {}),
    "command": ("unit_tests.py", 10, {
        TEST: "fuzz-command.py", VARIABLES: "CORNERTURN_FUZZ_SEED CORNERTURN_FUZZ_RUNS"}),
    "mutations": ("unit_tests.py", 10, {
        TEST: "../end-to-end/test-mutations.py", VARIABLES: "CORNERTURN_SEED CORNERTURN_MUTATIONS"}),
}
# The number of runs that one seed makes, if more than one.
BATCHES = {"unit_tests.py": 40}
if EMULATED["CORNERTURN_CUDA"] == "off":
    del PARTS["graphs-emulated"], PARTS["fused"]
if "ADVERSARY_FAULT_LIBRARY" not in os.environ:
    del PARTS["faults"]
# These parts run only if --only names them, because they need devices.
NAMED_ONLY = ("graphs-device", "fused-device")
BAD = ("wrong", "crash", "hang")
# A part that gives no answer for these seconds hangs.
MOST_SECONDS = 600
# A part stops after this many findings.
MOST_FINDINGS = 25


class Part:
    """The runs of one part; programs, one for each job, take turns at the seeds."""

    def __init__(self, name, options):
        self.name = name
        self.program, self.share, self.environment = PARTS[name]
        self.batch = BATCHES.get(self.program, 1)
        self.options = options
        self.counts = collections.Counter()
        self.seconds = 0.0

    def start(self, seed, runs, step):
        """Starts a program on its seeds; it prints one line for each."""
        return subprocess.Popen(
            [sys.executable, HERE / self.program, "--seed", str(seed), "--runs", str(runs),
             "--step", str(step)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, **self.environment}, start_new_session=True)

    def add(self, seed, verdict, message):
        if verdict in BAD and not self.options.all:
            for part, pattern, _ in KNOWN:
                if part == self.name and re.search(pattern, message):
                    verdict = "known"
        self.counts[verdict] += 1
        self.counts["ok"] += self.batch - 1
        if verdict in BAD:
            print(f"# {self.name} {seed}: {verdict}\n#   " + message.replace("\n", "\n#   "),
                  flush=True)

    def bad(self):
        return sum(self.counts[verdict] for verdict in BAD)

    def summary(self):
        done = sum(self.counts.values())
        extra = "".join(f", {self.counts[verdict]} {verdict}" for verdict in ("known", "refused")
                        if self.counts[verdict])
        return (f"{self.name}: {done} runs, {self.counts['wrong']} wrong, "
                f"{self.counts['crash']} crashes, {self.counts['hang']} hangs{extra} "
                f"({self.seconds:.0f} s)")


def end(program):
    """Ends a program that hangs, and the processes that it has started."""
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    program.wait()


def lines_of(program):
    """The lines of a program, and None if none comes for too long."""
    lines = queue.Queue()

    def read():
        for line in program.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=MOST_SECONDS)
        except queue.Empty:
            yield None
            return
        if not line:
            return
        yield line


def job(part, seed, step, runs, until, lock):
    """Runs seeds one after another; if the program ends at one, starts it again at the next."""
    done = 0

    def is_over():
        return time.monotonic() >= until or part.bad() >= MOST_FINDINGS

    while done < runs and not is_over():
        program = part.start(seed + done * step, runs - done, step)
        noise = ""
        for line in lines_of(program):
            if line is None:
                verdict = ("hang", f"no answer in {MOST_SECONDS} s")
                break
            match = re.match(r"(\d+) (\w+) (\".*\")$", line)
            if not match:
                noise += line
                continue
            with lock:
                part.add(int(match[1]), match[2], json.loads(match[3]))
            done, noise = done + 1, ""
            if is_over():
                break
        else:
            verdict = ("crash", f"the program itself died, after\n{noise[-3000:]}")
        stopped = is_over()
        end(program)
        if done < runs and not stopped:
            with lock:
                part.add(seed + done * step, *verdict)
            done += 1


def run_part(part, seed, runs, seconds):
    begin = time.monotonic()
    lock, n = threading.Lock(), part.options.jobs
    until = begin + seconds if seconds else float("inf")
    threads = [threading.Thread(target=job, args=(part, seed + k, n, -(-(runs - k) // n), until,
                                                  lock)) for k in range(min(n, runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    part.seconds = time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, help="how many, of all parts together")
    parser.add_argument("--seconds", type=float, help="how long, of all parts together")
    parser.add_argument("--seed", type=int, help="of the first run of each part; else at random")
    parser.add_argument("--only", help="parts, as " + ",".join(PARTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--all", action="store_true", help="known faults count as well")
    parser.add_argument("--tap", action="store_true", help="a test of each part")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    names = options.only.split(",") if options.only else [
        name for name in PARTS if name not in NAMED_ONLY]
    if unknown := set(names) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    parts = [Part(name, options) for name in names]
    shares = sum(part.share for part in parts)
    if not options.runs and not options.seconds:
        options.runs = 1 if options.seed is not None else 100
    print(f"# seed {seed}", flush=True)
    for k, part in enumerate(parts):
        runs = -(-options.runs * part.share // (shares * part.batch)) if options.runs else 1 << 40
        run_part(part, seed, runs, options.seconds and options.seconds * part.share / shares)
        prefix = f"{'not ' * (part.bad() > 0)}ok {k + 1} - " if options.tap else ""
        print(prefix + part.summary(), flush=True)
    total = sum((part.counts for part in parts), collections.Counter())
    if options.tap:
        print(f"1..{len(parts)}")
    print(f"{'# ' * options.tap}{sum(total.values())} runs, {total['wrong']} wrong, "
          f"{total['crash']} crashes, {total['hang']} hangs")
    return any(total[verdict] for verdict in BAD)


if __name__ == "__main__":
    sys.exit(main())
