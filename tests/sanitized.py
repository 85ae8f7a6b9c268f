# SPDX-License-Identifier: BSD-3-Clause
"""Lets Python load a library that was built with a sanitizer."""
import os
import subprocess
import sys

# The last one is for kernels that the emulator compiles.
RUNTIMES = {"address": "libasan.so", "thread": "libtsan.so", "undefined": "libubsan.so"}
OPTIONS = "ASAN_OPTIONS"
KEPT = "CORNERTURN_ASAN_OPTIONS"


def restart():
    """Starts this program again with the sanitizers' runtimes, which must be loaded first; leaks of
    the interpreter are not reported. Programs that are started from here run without these
    changes."""
    kinds = os.environ.get("CORNERTURN_SANITIZER", "").split(",")
    names = [RUNTIMES[kind] for kind in kinds if kind in RUNTIMES]
    if not names:
        return
    runtime = ":".join(
        subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True,
                       text=True).stdout.strip() for name in names)
    if os.environ.get("LD_PRELOAD") == runtime:
        del os.environ["LD_PRELOAD"]
        os.environ[OPTIONS] = os.environ.pop(KEPT)
        return
    os.environ["LD_PRELOAD"] = runtime
    os.environ[KEPT] = os.environ.get(OPTIONS, "")
    os.environ[OPTIONS] = f"{os.environ[KEPT]}:detect_leaks=0"
    os.execv(sys.executable, [sys.executable, *sys.argv])
