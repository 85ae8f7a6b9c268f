# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a pipeline, in all forms in which it is described."""
import html
import json
import shutil
import subprocess

from . import _errors


class Plan:
    """`text`, `dot` (for Graphviz), `json` (as a dictionary), `explain` and `capacity` (texts),
    `svg` (None if nothing can draw it). A notebook shows the drawing or the text."""

    def __init__(self, describe):
        self._describe = describe
        self.text = describe("text")
        self.json = json.loads(describe("json"))

    @property
    def dot(self):
        return self._describe("dot")

    @property
    def explain(self):
        return self._describe("explain")

    @property
    def capacity(self):
        return self._describe("capacity")

    @property
    def svg(self):
        """By the library if it draws, or else by Graphviz if that is installed."""
        try:
            return self._describe("svg")
        except _errors.ParameterError:
            pass
        if not shutil.which("dot"):
            return None
        drawn = subprocess.run(["dot", "-Tsvg"], input=self.dot.encode(), capture_output=True,
                               check=False)
        return drawn.stdout.decode() if drawn.returncode == 0 else None

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<Plan: {len(self.json['nodes'])} nodes, {self.json['workers']} workers>"

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return f"<pre>{html.escape(self.text)}</pre>"
