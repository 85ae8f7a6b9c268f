#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `plan --capacity` with runs, in MHz per station, for several numbers of stations.

Runs are measured by the clock, which other programs slow down, and by processor time over the
number of workers, which they hardly affect (it includes the preparation). For devices, only the
clock is meaningful.

    tests/bench/capacity.py [--seconds 1] [--stations 16 64] [--runs 3] [--costs FILE]
                            [--backend NAME] [GRAPH …]"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

COMMAND = os.environ.get("CORNERTURN", "cornerturn")
ROOT = pathlib.Path(os.environ.get("CORNERTURN_SOURCE_ROOT",
                                   pathlib.Path(__file__).resolve().parents[2]))
GRAPHS = ("lofar-1", "lofar-2", "fx-correlator", "beamformer")
# Overrides that make the stream longer than the run.
ENDLESS = {"lofar-1": "sky.samples=1e12", "lofar-2": "sky.samples=1e12",
           "lofar-imaging": "sky.samples=1e12"}


def command(*arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(result.stdout), seconds


def measure(graph, stations, options):
    path = str(ROOT / "pipelines" / f"{graph}.yaml") if graph in GRAPHS else graph
    common = [path, "--set", f"sky.n_stations={stations}"]
    common += ["--costs", options.costs] if options.costs else []
    common += ["--backend", options.backend] if options.backend else []
    said, _ = command("plan", "--capacity", "--json", *common)
    megahertz = said["sources"][0]["megahertz"]
    clock, processor = [], []
    for _ in range(options.runs):
        stats, seconds = command(
            "run", "--stats", "json", *common, "--set",
            ENDLESS.get(pathlib.Path(graph).stem, "sky.duration=1e9 s"),
            "--duration", f"{options.seconds * said['times']:.9f} s")
        clock.append(megahertz * stats["stream_seconds"] / stats["running_seconds"])
        processor.append(megahertz * stats["stream_seconds"] * stats["workers"] / seconds)
    wanted = said["sources"][0]["sustained_megahertz"]
    by_clock, by_processor = statistics.median(clock), statistics.median(processor)
    print(f"{pathlib.Path(graph).stem:14} {stations:8} {said['busiest']:>24} {wanted:10.3f} "
          f"{by_clock:10.3f} {by_clock / wanted:6.2f} {by_processor:10.3f} "
          f"{by_processor / wanted:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--seconds", type=float, default=1, help="of a run, by the plan")
    parser.add_argument("--stations", type=int, nargs="+", default=(16, 64))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--costs")
    parser.add_argument("--backend", help="of all nodes, as of the command")
    options = parser.parse_args()
    print(f"{'graph':14} {'stations':>8} {'busiest':>24} {'plan MHz':>10} {'by clock':>10} "
          f"{'share':>6} {'by cores':>10} {'share':>6}")
    for graph in options.graphs:
        for stations in options.stations:
            measure(graph, stations, options)


if __name__ == "__main__":
    main()
