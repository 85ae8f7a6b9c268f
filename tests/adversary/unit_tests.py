#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parts that are tests with seeds of their own: one seed makes `BATCH` runs of the test. The
environment gives the name of the program, here or under tests/, and its variables for seed and
runs."""
import os
import pathlib
import subprocess
import sys

import part

BATCH = 40
PROGRAM = pathlib.Path(__file__).parent / os.environ["ADVERSARY_TEST"]
SEED, RUNS = os.environ["ADVERSARY_TEST_VARIABLES"].split()
MOST_SECONDS = 540


def one(seed, _):
    numbers = {SEED: str(seed * BATCH), RUNS: str(BATCH)}
    try:
        done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True,
                              errors="replace", timeout=MOST_SECONDS, check=False,
                              env={**os.environ, **numbers})
    except subprocess.TimeoutExpired as error:
        raise part.Finding("hang", f"{PROGRAM.name}: no end within {MOST_SECONDS} s") from error
    if done.returncode:
        words = " ".join(f"{key}={value}" for key, value in numbers.items())
        raise part.Finding("wrong", f"{words} {PROGRAM.name}\n{done.stderr[-3000:]}")


if __name__ == "__main__":
    part.main(one)
