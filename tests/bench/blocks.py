#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the rate at which the Python package feeds blocks to a graph, and takes blocks from it, with
that of a program in C (blocks-peer), by the length of the blocks. The graph is that of
examples/spectrum.c. Both take turns; figures are medians.

    meson devenv -C build -w . tests/bench/blocks.py [--runs 5] [--samples 50000000] [LENGTH …]"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import numpy

import cornerturn

N_BUFFERS = 8  # more than the pipeline can have unread
GRAPH = """
stages:
  x: {{ stage: input, layout: 'cf32[time]', shape: [-1], sample_rate: 64 MHz, centre_frequency: 100 MHz,
       block: {{ time: {0} }} }}
  filter: {{ stage: fir, from: x, n_channels: 64, n_taps: 8 }}
  spectra: {{ stage: fft, from: filter }}
  y: {{ stage: output, from: spectra, layout: 'cf32[time channel]' }}
"""
LEAST = 0.9


def run_python(graph, length, n_blocks):
    """Samples per second."""
    buffers = [numpy.zeros(length, numpy.complex64) for _ in range(N_BUFFERS)]
    with cornerturn.Pipeline(graph) as pipeline:
        pipeline.start()
        begin = time.monotonic()

        def feed():
            for i in range(n_blocks):
                pipeline.feed("x", buffers[i % N_BUFFERS])
            pipeline.feed_end("x")

        feeder = threading.Thread(target=feed)
        feeder.start()
        n = sum(len(block.array) for block in pipeline.take("y"))
        feeder.join()
        pipeline.wait()
        assert n == (n_blocks * length - 448) // 64
        return n_blocks * length / (time.monotonic() - begin)


def run_c(program, graph, length, n_blocks):
    return float(subprocess.run([program, graph, str(length), str(n_blocks)], check=True,
                                capture_output=True, text=True).stdout)


def main():
    peer = os.environ.get("CORNERTURN_BLOCKS_PEER") or str(
        pathlib.Path(cornerturn._library.LIBDIR).parent / "tests" / "bench" / "blocks-peer")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=50_000_000, help="of each run")
    parser.add_argument("lengths", type=int, nargs="*", default=[4096, 16384, 65536, 262144],
                        help="of the blocks")
    given = parser.parse_args()
    good = True
    print(f"{'samples in a block':>20} {'C, MS/s':>10} {'Python, MS/s':>14} {'ratio':>7}")
    for length in given.lengths:
        graph, n_blocks = GRAPH.format(length), max(given.samples // length, 1)
        pairs = [(run_c(peer, graph, length, n_blocks), run_python(graph, length, n_blocks))
                 for _ in range(given.runs)]
        in_c, in_python = (statistics.median(side) for side in zip(*pairs))
        good &= in_python >= LEAST * in_c
        print(f"{length:20} {in_c * 1e-6:10.1f} {in_python * 1e-6:14.1f} {in_python / in_c:7.2f}", flush=True)
    return not good


if __name__ == "__main__":
    sys.exit(main())
