#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The notebook of the examples runs."""
import os
import pathlib
import sys
import tempfile
import unittest

import oracles
import tap

SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])


@unittest.skipIf(os.environ.get("CORNERTURN_SANITIZER", "none") != "none",
                 "the kernel of a notebook is not started with the runtimes of sanitizers")
class Notebook(unittest.TestCase):
    def run_notebook(self):
        """The outputs of the cells of code, in the form of nbformat."""
        folder = oracles.install(oracles.NBCLIENT)
        if not folder:
            self.skipTest(f"{oracles.NBCLIENT} can't be installed from a package registry here")
        sys.path.insert(0, str(folder))
        # For the kernel.
        os.environ["PYTHONPATH"] = f"{folder}:{os.environ.get('PYTHONPATH', '')}"
        import nbclient  # pylint: disable=import-outside-toplevel
        import nbformat  # pylint: disable=import-outside-toplevel
        notebook = nbformat.read(SOURCE / "examples" / "fringes.ipynb", 4)
        for cell in notebook.cells:
            self.assertFalse(cell.get("outputs"), "the notebook is kept without outputs")
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(SOURCE / "pipelines", os.path.join(folder, "pipelines"))
            # Files of the kernel's connection are in a folder of the home.
            os.environ["JUPYTER_RUNTIME_DIR"] = os.environ["IPYTHONDIR"] = folder
            nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                                    resources={"metadata": {"path": folder}}).execute()
        return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]

    def test_fringes(self):
        outputs = self.run_notebook()
        shown = [output.get("data", {}) for cell in outputs for output in cell]
        text = "".join(output.get("text", "") for cell in outputs for output in cell)
        html = "".join(data.get("text/html", "") for data in shown)
        self.assertIn("<td>baseline</td>", html)
        self.assertIn("(5, 256, 136, 2, 2)", "".join(data.get("text/plain", "") for data in shown))
        self.assertIn("visibilities", text)
        self.assertIn("the tone is in the channel at 107 MHz\n", text)


if __name__ == "__main__":
    tap.main()
