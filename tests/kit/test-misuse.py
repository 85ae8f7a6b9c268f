#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forms that a plugin misuses: each fault is one error, in every variant. tests/plugins/misuse has a
stage for each."""
import os
import shlex
import subprocess
import unittest

import numpy

os.environ["CORNERTURN_PLUGIN_PATH"] += ":" + os.environ["CORNERTURN_TEST_PLUGINS"] + "/misuse"

import graphs  # noqa: E402
import pipeline  # noqa: E402
import tap  # noqa: E402

VARIANTS = pipeline.variants()
MARKS = "variant '{0}' of 'misuse.{1}' is at fault: it marks samples of output 'out', which has no " \
        "CT_PORT_MARKED"

# A file of kernels as plugins/kit/meson.build compiles it, for f32.
FILE = """#define CT_KERNEL_FILE "misuse.kernel.h"
""" + "".join(f"""#define CT_{letter} ct_f32
#define CT_{letter}_ELEMENT ct_f32
#define CT_{letter}_PART ct_f32
#define CT_{letter}_PARTS 1
#define CT_{letter}_MOST 0
#define CT_{letter}_TYPE CT_F32
#define CT_{letter}_LOAD(x) (x)
#define CT_{letter}_STORE(x) (x)
""" for letter in "XWY") + "#include <cornerturn/kit/kernel.h>\n"


def compile_kernels(text):
    """What the compiler says to the text behind the head of a file of kernels."""
    glib = subprocess.run([os.environ.get("PKG_CONFIG", "pkg-config"), "--cflags", "glib-2.0"],
                          capture_output=True, text=True, check=True).stdout
    return subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-fsyntax-only",
                           "-Wall", "-Wextra", f"-I{graphs.SOURCE_ROOT}/core/include",
                           *shlex.split(glib), "-xc", "-"], input=FILE + text,
                          capture_output=True, text=True, check=False).stderr


class Misuse(graphs.GraphTest):
    def stages(self, stage, variant, n, n_channels, type_="f32", **more):
        x = -numpy.ones((n, n_channels), pipeline.DTYPES[type_])  # all sums are below 0
        numpy.save(self.folder / "x.npy", x)
        source = {"stage": "file.source", "path": "x.npy", "layout": "[time channel]",
                  "sample_rate": "1 kHz"}
        inputs = {"in": "x", "w": "x"} if stage in ("mark", "unjoined", "surplus") else "x"
        return {"x": source,
                "y": {"stage": f"misuse.{stage}", "from": inputs, "variant": variant, **more},
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

    def test_types(self):
        """Only a kernel that holds all values of the stream's type stands in for its own."""
        for type_ in "i32", "f64":
            self.refuses("types", f"plugin 'misuse' has no kernel 'copy' for {type_} -> {type_}; "
                                  "f32 -> f32 would lose precision: add it to forms in meson.build",
                         VARIANTS[1:], type_=type_)

    def test_settings(self):
        self.refuses("large", "kernel 'copy' of plugin 'misuse' wants 256 bytes of settings at "
                              "most, but is given 264", VARIANTS[1:])

    def test_tables(self):
        gives = "plugin 'misuse' gives "
        axis = gives + "a table with the axis {}, but wants different names from ct_axis_name\\(\\), " \
                       "and not time"
        entries = gives + "a table with {} entries along axis {} of length {}"
        for fault, message in (
                ("data", gives + "kernel 'weigh' no table"), ("name", axis.format("NULL")),
                ("foreign", axis.format("channel")), ("twice", axis.format("channel")),
                ("time", axis.format("time")), ("axis", entries.format(3, "beam", 0)),
                ("short", entries.format(2, "channel", 3)), ("zero", entries.format(0, "channel", 3)),
                ("long", entries.format(500, "channel", 3)),
                ("many", gives + "a table with 100 axes, but 12 are the most"),
                ("type", gives + "kernel 'weigh' a table of f32, but it wants f64"),
                ("complex", gives + "kernel 'weigh' a table of cf64, but it wants f64")):
            self.refuses("weigh", message, VARIANTS[1:], fault=fault)
        for variant in VARIANTS[1:]:
            self.run_graph(self.stages("weigh", variant, 64, 3))

    def test_groups(self):
        wants = "kernel 'swap' of plugin 'misuse' wants 2 elements along its axis {}, but '{}' has {}"
        for fault, n_channels, message in (
                ("none", 1, wants.format("group_in", "channel", 1)),
                ("none", 3, wants.format("group_in", "channel", 3)),
                ("in", 2, wants.format("group_in", "NULL", 0)),
                ("out", 2, wants.format("group_out", "NULL", 0)),
                ("absent", 2, wants.format("group_out", "beam", 0))):
            self.refuses("swap", message, VARIANTS[1:], ((64, n_channels),), fault=fault)
        for variant in VARIANTS[1:]:
            self.assertIn("makes groups along pol of groups along channel, but wants channel in one "
                          "of the streams alone", self.fail_graph(self.swap(variant, (9, 2, 2), "[time channel pol]", "other")))
            blocked = self.swap(variant, (9, 2), "[time channel]")
            blocked["y"]["stage"] = "misuse.blocked"
            self.assertIn("makes groups along an axis in blocks", self.fail_graph(blocked))

    def swap(self, variant, shape, layout, fault="none"):
        """Writes random numbers; a graph that swaps pairs of them."""
        self.x = numpy.random.default_rng(7).standard_normal(shape).astype("f4")
        numpy.save(self.folder / "x.npy", self.x)
        return {"x": {"stage": "file.source", "path": "x.npy", "layout": layout, "sample_rate": "1 kHz"},
                "y": {"stage": "misuse.swap", "from": "x", "variant": variant, "fault": fault},
                "z": {"stage": "file.sink", "from": "y", "path": "y.npy", "layout": layout}}

    def test_groups_along_one_axis(self):
        for variant in VARIANTS[1:]:
            for layout, shape in (("[time channel]", (65, 2)), ("[channel time]", (2, 65)),
                                  ("[time channel pol]", (33, 2, 3)), ("[pol time channel]", (3, 33, 2))):
                with self.subTest(variant=variant, layout=layout):
                    self.run_graph(self.swap(variant, shape, layout))
                    numpy.testing.assert_array_equal(
                        numpy.load(self.folder / "y.npy"),
                        numpy.flip(self.x, layout.strip("[]").split().index("channel")))

    def test_infer(self):
        """Stages of which ct_form_infer knows too little."""
        stage, plugin = "stage 'misuse.{1}' ", "plugin 'misuse' "
        for name, message in (("formless", stage + r"wants a \.form that names its kernel, but has none"),
                              ("choosing", stage + r"wants a \.form that names its kernel, but has one "
                                                   "that chooses"),
                              ("absent", plugin + "has no kernel 'absent'"),
                              ("endless", stage + r"wants a \.length for kernel 'total', but has none"),
                              ("shifted", stage + "wants an infer of its own for kernel 'shift', but has "
                                                  "none"),
                              ("listed", stage + r"wants a parameter 'length' that is one integer: the "
                                                 r"\.length of its form"),
                              ("unnamed", stage + r"wants a parameter 'length' that is one integer: the "
                                                  r"\.length of its form"),
                              ("surplus", stage + "wants 1 input for its form, but has 2")):
            self.refuses(name, message)
        self.refuses("long", "parameter 'length': wants 1 or more, but is given 0", length=0)
        timeless = self.stages("long", VARIANTS[1], 64, 3)
        timeless["x"] = {"stage": "file.source", "path": "x.npy", "layout": "[beam channel]"}
        self.assertIn("node 'y': input 'in' wants an axis time, but has none", self.fail_graph(timeless))

    def test_sizes(self):
        """What is too large does not compile."""
        kernel = "CT_KERNEL void f(const S *s, const ct_x *x, ct_y *y) { *y = *x; }\n"
        for size in 64, 65:
            settings = f"typedef struct {{ float values[{size}]; }} S;\n"
            said = compile_kernels(settings + kernel + "CT_MAP(f, S)\n")
            if size == 64:
                self.assertEqual(said, "")
            else:
                self.assertIn("the settings of kernel f have more than 256 bytes", said)
        sums = "typedef struct { double sums[%d]; } Sums;\n" \
               "CT_KERNEL void f_add(const CtNoSettings *s, Sums *sums, const ct_x *x)\n" \
               "{ sums->sums[0] += *x; }\n" \
               "CT_KERNEL bool f_give(const CtNoSettings *s, const Sums *sums, uint32_t n, ct_y *y)\n" \
               "{ *y = (ct_y)(sums->sums[0] / n); return true; }\n" \
               "CT_SUMS(f, CtNoSettings, Sums, CT_FOLD_ALL)\n"
        self.assertEqual(compile_kernels(sums % 8), "")
        self.assertIn("the state of kernel f has more than 64 bytes", compile_kernels(sums % 9))
        for n in 0, 9:
            self.assertIn("kernel f wants groups of 1 to 8 elements", compile_kernels(
                f"typedef CtNoSettings S;\n{kernel}CT_GROUP(f, S, {n}, 1)\n"))

    def test_macros(self):
        """A kernel of one form in a stage of another."""
        of_maps = "CT_MAP, CT_COUNTED_MAP, CT_TABLE_MAP or CT_GROUP"
        for stage, kernel, macro, use in (("window", "copy", "CT_MAP", "CT_WINDOW or CT_SHIFT_SUM"),
                                          ("unfolded", "copy", "CT_MAP", "CT_FOLD or CT_SUMS"),
                                          ("unjoined", "copy", "CT_MAP", "CT_JOIN or CT_MARKED_JOIN"),
                                          ("folded", "total", "CT_FOLD", of_maps),
                                          ("joined", "mark", "CT_MARKED_JOIN", of_maps)):
            self.refuses(stage, f"kernel '{kernel}' of misuse.kernel.h is made by {macro}; use {use}",
                         VARIANTS[1:])

    def test_names(self):
        """Kernels may have any names, also those that the macros would use."""
        for kernel in "sum", "run", "x", "n", "i", "in", "map", "shift", "table":
            for variant in VARIANTS[1:]:
                with self.subTest(kernel, variant=variant):
                    stages = self.stages(kernel, variant, 64, 3)
                    stages["z"] = {"stage": "file.sink", "from": "y", "path": "z.npy",
                                   "layout": "[time channel]"}
                    self.run_graph(stages)
                    made = numpy.load(self.folder / "z.npy")
                    numpy.testing.assert_array_equal(made, 2 * numpy.load(self.folder / "x.npy"))


if __name__ == "__main__":
    tap.main()
