#!/usr/bin/env python3
"""@STAGE@ against NumPy: each backend, whole and cut into blocks."""
import os
import subprocess
import tempfile

import numpy as np

GRAPH = """
stages:
  source: { stage: file.source, path: in.npy, layout: "cf32[time station pol]", sample_rate: 1 MHz, block: { time: %d } }
  made:   { stage: @STAGE@, from: source, backend: %s, length: 16 }
  sink:   { stage: file.sink, from: made, path: out.npy, layout: "[time station pol]" }
"""

random = np.random.default_rng(1)
samples = random.normal(size=(100, 3, 2, 2)).astype("f4").view("c8")[..., 0]
wanted = np.stack([(abs(samples[i:i + 16].astype("c16")) ** 2).mean(0) for i in range(0, 100, 16)])
# Without a device, the emulator runs the kernels.
environment = {"CORNERTURN_CUDA": "any", **os.environ}
cases = [(backend, block) for backend in ("reference", "cpu", "cuda") for block in (100, 7)]
print(f"1..{len(cases)}")
for i, (backend, block) in enumerate(cases):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/in.npy", samples)
        with open(f"{folder}/graph.yaml", "w") as file:
            file.write(GRAPH % (block, backend))
        ran = subprocess.run(
            [os.environ.get("CORNERTURN", "cornerturn"), "run", "--quiet", "graph.yaml"],
            cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        absent = "is not installed" in ran.stderr or "forbids it" in ran.stderr
        if backend == "cuda" and absent:
            print("ok", i + 1, "# SKIP", ran.stderr.splitlines()[-1])
            continue
        assert ran.returncode == 0, ran.stderr
        right = np.allclose(np.load(f"{folder}/out.npy"), wanted, rtol=1e-6)
    print("ok" if right else "not ok", i + 1, f"- {backend}, blocks of {block}")
