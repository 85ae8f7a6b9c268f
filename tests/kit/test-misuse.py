#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forms that a plugin misuses: each fault is one error, in every variant. tests/plugins/misuse has a
stage for each."""
import os
import unittest

import numpy

os.environ["CORNERTURN_PLUGIN_PATH"] += ":" + os.environ["CORNERTURN_TEST_PLUGINS"] + "/misuse"

import graphs  # noqa: E402
import pipeline  # noqa: E402
import tap  # noqa: E402

VARIANTS = pipeline.variants()
MARKS = "variant '{0}' of 'misuse.{1}' is at fault: it marks samples of output 'out', which has no " \
        "CT_PORT_MARKED"


class Misuse(graphs.GraphTest):
    def stages(self, stage, variant, n, n_channels, type_="f32"):
        x = -numpy.ones((n, n_channels), pipeline.DTYPES[type_])
        numpy.save(self.folder / "x.npy", x)
        source = {"stage": "file.source", "path": "x.npy", "layout": "[time channel]",
                  "sample_rate": "1 kHz"}
        inputs = {"in": "x", "w": "x"} if stage == "mark" else "x"
        return {"x": source,
                "y": {"stage": f"misuse.{stage}", "from": inputs, "variant": variant},
                "z": {"stage": "discard", "from": "y"}}

    def refuses(self, stage, message, variants=VARIANTS, shapes=((64, 3),), **options):
        for variant in variants:
            for n, n_channels in shapes:
                with self.subTest(stage, variant=variant, shape=(n, n_channels)):
                    stages = self.stages(stage, variant, n, n_channels, **options)
                    self.assertRegex(self.fail_graph(stages),
                                     rf"^graph.yaml:\d+:\d+: node 'y': "
                                     + message.format(variant, stage) + "$")

    def test_marks(self):
        """Rows of several times, of one, whole hops at once, and a short last hop."""
        self.refuses("fold", MARKS, [v for v in VARIANTS if v != "cuda"], ((64, 1), (64, 16), (64, 600), (7, 5)))
        self.refuses("mark", MARKS, VARIANTS[1:])

    def test_counts(self):
        self.refuses("tally", "stage 'misuse.tally' lacks .counters, to which kernel 'tally' adds",
                     VARIANTS[1:])


if __name__ == "__main__":
    tap.main()
