#!/usr/bin/env python3
"""@STAGE@ against NumPy: backends reference and cpu, whole and cut into blocks."""
import os
import subprocess
import tempfile

import numpy as np

GRAPH = """
stages:
  source: { stage: file.source, path: in.npy, layout: "f32[time channel]", sample_rate: 1 MHz, block: { time: %d } }
  slow:   { stage: file.source, path: slow.npy, layout: "f32[time channel]", sample_rate: 100 kHz, ticks_per_sample: 10 }
  made:   { stage: @STAGE@, from: { in: source, background: slow }, backend: %s, factor: 0.5 }
  sink:   { stage: file.sink, from: made, path: out.npy, layout: "[time channel]" }
"""

random = np.random.default_rng(1)
samples = random.normal(size=(100, 3)).astype("f4")
background = random.normal(size=(10, 3)).astype("f4")
wanted = samples.astype(float) - 0.5 * background.repeat(10, axis=0)
cases = [(backend, block) for backend in ("reference", "cpu") for block in (100, 7)]
print(f"1..{len(cases)}")
for i, (backend, block) in enumerate(cases):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/in.npy", samples)
        np.save(f"{folder}/slow.npy", background)
        with open(f"{folder}/graph.yaml", "w") as file:
            file.write(GRAPH % (block, backend))
        subprocess.run([os.environ.get("CORNERTURN", "cornerturn"), "run", "--quiet", "graph.yaml"],
                       cwd=folder, check=True)
        right = np.allclose(np.load(f"{folder}/out.npy"), wanted, rtol=0, atol=1e-6)
    print("ok" if right else "not ok", i + 1, f"- {backend}, blocks of {block}")
