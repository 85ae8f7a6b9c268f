#!/usr/bin/env python3
"""@STAGE@ against NumPy: backends reference and cpu, whole and cut into blocks."""
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
cases = [(backend, block) for backend in ("reference", "cpu") for block in (100, 7)]
print(f"1..{len(cases)}")
for i, (backend, block) in enumerate(cases):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/in.npy", samples)
        with open(f"{folder}/graph.yaml", "w") as file:
            file.write(GRAPH % (block, backend))
        subprocess.run([os.environ.get("CORNERTURN", "cornerturn"), "run", "--quiet", "graph.yaml"],
                       cwd=folder, check=True)
        right = np.allclose(np.load(f"{folder}/out.npy"), wanted, rtol=1e-6)
    print("ok" if right else "not ok", i + 1, f"- {backend}, blocks of {block}")
