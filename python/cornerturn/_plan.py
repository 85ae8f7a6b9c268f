# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a pipeline, in all forms in which it is described."""
import html
import json


class Plan:
    """`text`, `json` (a dictionary), `svg` (a drawing), `dot` (for Graphviz), `explain` and
    `capacity` (texts). A notebook shows the drawing or the text."""

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
        return self._describe("svg")

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<Plan: {len(self.json['nodes'])} nodes, {self.json['workers']} workers>"

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return f"<pre>{html.escape(self.text)}</pre>"
