#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""file.source and file.sink: every type and order, and errors."""
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
import unittest

import pipeline  # this import comes first: with sanitizers it starts the program again

import numpy as np

import graphs
import tap
from arrays import LENGTHS, TYPES, copy_stages, make_array


class Copies(graphs.GraphTest):
    def check_copy(self, array, stored, stages):
        np.save(self.folder / "in.npy", stored)
        self.run_graph(stages)
        copy = np.load(self.folder / "out.npy")
        self.assertEqual((copy.dtype, copy.shape), (array.dtype, array.shape))
        self.assertEqual(copy.tobytes(), np.ascontiguousarray(array).tobytes())
        self.assertFalse(list(self.folder.glob("*.partial")))

    def test_types(self):
        for name in TYPES:
            for axes in (["time", "channel", "pol"], ["channel", "time", "pol"],
                         ["pol", "channel", "time"]):
                with self.subTest(type=name, axes=axes):
                    array = make_array(axes, name)
                    self.check_copy(array, array, copy_stages(f"{name}[{' '.join(axes)}]"))

    def test_orders(self):
        for axes in itertools.permutations(LENGTHS):
            for block in (1, 7, 64):
                with self.subTest(axes=axes, block=block):
                    array = make_array(axes, "ci8")
                    self.check_copy(array, array, copy_stages(
                        f"ci8[{' '.join(axes)}]", {"block": {"time": block}}))

    def test_byte_and_axis_orders(self):
        axes = ["channel", "time", "pol"]
        for name in ("ci4", "ci8", "ci16", "cf32", "f64"):
            array = make_array(axes, name)
            swapped = array.byteswap().view(array.dtype.newbyteorder())
            for stored in (np.asfortranarray(array), swapped, np.asfortranarray(swapped)):
                # The source gives complex types whose parts are separate in logical order, and
                # others in the order of memory.
                gathers = not stored.flags.c_contiguous and not TYPES[name][1]
                order = axes[::-1] if gathers else axes
                wanted = array.T if gathers else array
                with self.subTest(type=name, stored=stored.dtype, fortran=stored.flags.f_contiguous):
                    stages = copy_stages(f"{name}[{' '.join(axes)}]")
                    if not stored.flags.c_contiguous:
                        order, wanted = axes[::-1], array.transpose(
                            [2, 1, 0] + [3] * TYPES[name][1])
                    stages["out"]["layout"] = f"[{' '.join(order)}]"
                    self.check_copy(wanted, stored, stages)

    def test_order_of_other_axes(self):
        """Axes that have no canonical place keep the order of `layout`, also in Fortran order."""
        array = np.arange(30, dtype=np.int16).reshape(5, 3, 2)
        stages = copy_stages("i16[time feed sort]")
        del stages["out"]["layout"]
        for stored in (array, np.asfortranarray(array)):
            self.check_copy(array, stored, stages)

    def test_raw(self):
        array = make_array(["time", "channel", "pol"], "ci16")
        for shape in ([37, 3, 2], [-1, 3, 2]):
            array.tofile(self.folder / "in.raw")
            self.run_graph(copy_stages("ci16[time channel pol]", {"path": "in.raw", "shape": shape},
                                       {"path": "out.raw"}))
            copy = np.fromfile(self.folder / "out.raw", array.dtype)
            np.testing.assert_array_equal(copy, array.ravel())

    def test_types_left_out(self):
        array = make_array(["time", "pol"], "cf32")
        self.check_copy(array, array, copy_stages("[time pol]"))

    def test_another_order_and_type(self):
        """The planner inserts a transpose or a conversion if the sink wants what the source does
        not give."""
        axes = ["time", "channel", "station", "pol"]
        array = make_array(axes, "ci8")
        np.save(self.folder / "in.npy", array)
        whole = array[..., 0] + 1j * array[..., 1].astype(np.float32)
        for order in ("pol time channel station", "channel station pol time",
                      "station pol time channel"):
            for name, block in (("ci8", 5), ("cf32", 1), ("cf64", 37)):
                with self.subTest(order=order, type=name):
                    self.run_graph(copy_stages("ci8[time channel station pol]",
                                               {"block": {"time": block}},
                                               {"layout": f"{name}[{order}]"}))
                    copy = np.load(self.folder / "out.npy")
                    if name == "ci8":
                        copy = copy[..., 0] + 1j * copy[..., 1].astype(np.float32)
                    np.testing.assert_array_equal(
                        copy, whole.transpose([axes.index(axis) for axis in order.split()]))

    def test_no_time(self):
        array = make_array(["channel", "pol"], "cf64")
        self.check_copy(array, array, copy_stages("cf64[channel pol]"))

    def test_no_samples(self):
        array = make_array(["channel", "time"], "f32")[:, :0]
        self.check_copy(array, array, copy_stages("f32[channel time]"))


class Errors(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.array = make_array(["time", "pol"], "cf32")
        np.save(self.folder / "in.npy", self.array)

    def check_error(self, stages, ending, *arguments, **options):
        error = self.fail_graph(stages, *arguments, **options)
        self.assertTrue(error.startswith("graph.yaml:"), error)
        self.assertTrue(error.endswith(ending), error)
        self.assertFalse((self.folder / "out.npy").exists())
        self.assertFalse((self.folder / "out.npy.json").exists())

    def test_source(self):
        whole = (self.folder / "in.npy").read_bytes()
        (self.folder / "short.npy").write_bytes(whole[:-1])
        (self.folder / "text.npy").write_text("not an array")
        (self.folder / "short.raw").write_bytes(bytes(100))
        np.save(self.folder / "words.npy", np.array(["a", "bc"]))
        np.save(self.folder / "threes.npy", np.zeros((5, 3), np.int8))
        for layout, source, ending in (
                ("cf32[time pol]", {"path": "none.npy"},
                 "none.npy: can't be opened: No such file or directory"),
                ("cf32[time pol]", {"path": "text.npy"},
                 "text.npy: not an .npy file: it does not begin with \\x93NUMPY"),
                ("cf32[time pol]", {"path": "short.npy"},
                 "short.npy: wants 592 bytes of data as its header says, but is given 591 "
                 "(truncated)"),
                ("cf32[time pol]", {"path": "words.npy"},
                 "words.npy: wants elements that are integers, floating point or complex, but is "
                 "given '<U2'"),
                ("ci16[time pol]", {},
                 "ci16 wants elements of int16, but in.npy has complex64"),
                ("ci8[time]", {"path": "threes.npy"},
                 "ci8 wants a last axis of 2, real and imaginary, but threes.npy is given one of 3"),
                ("cf32[time]", {}, "wants the 2 axes of in.npy, but is given 1"),
                ("cf32[time ...]", {}, "wants every axis of the array, but is given ..."),
                ("cf32[time pol time:4]", {}, "wants whole axes, but is given a block of 'time'"),
                ("cf32[time pol]", {"path": "short.raw", "shape": [-1, 3]},
                 "short.raw: wants samples of 24 bytes, but is given 4 bytes more (truncated)"),
                ("cf32[time pol]", {"path": "short.raw", "shape": [7, 2]},
                 "short.raw: wants 112 bytes as 'shape' says, but is given 100 (truncated)"),
                ("cf32[time pol]", {"path": "short.raw", "shape": [7]},
                 "wants a length for each of 2 axes, but is given 1"),
                ("cf32[pol time]", {"path": "short.raw", "shape": [2, -1]},
                 "wants lengths, and -1 for a slowest time alone"),
                ("[time pol]", {"path": "short.raw", "shape": [2, 2]},
                 "wants one type, for a raw array"),
                ("cf32[time pol]", {"sample_rate": 1, "epoch": "yesterday"},
                 "wants a time as 2022-06-29T01:30:00Z, to the second, but is given 'yesterday'"),
                ("cf32[time pol]", {"first_frequency": "1 MHz"},
                 "wants real samples: give 'centre_frequency' for these"),
                ("cf32[time pol]", {"frequencies": ["1 MHz"]},
                 "wants one for each of 0 subbands or channels, but is given 1"),
                ("cf32[time pol]", {"ticks_per_sample": 2}, "wants 'sample_rate' beside it")):
            with self.subTest(layout=layout, source=source):
                self.check_error(copy_stages(layout, source), ending)

    def test_length_that_is_made_up(self):
        """A file of /proc has length 0 by its metadata: here, the arguments of a process are an
        array."""
        header = b"{'descr': '|i1', 'fortran_order': False, 'shape': (8,), }".ljust(117) + b"\n"
        (self.folder / "v").write_text("read line")
        process = subprocess.Popen([b"\x93NUMPY\x01", b"v", header + b"abcdefg"],
                                   executable="/bin/sh", cwd=self.folder, stdin=subprocess.PIPE)
        self.addCleanup(process.communicate)
        path = f"/proc/{process.pid}/cmdline"
        while not pathlib.Path(path).read_bytes().startswith(b"\x93"):
            time.sleep(0.01)
        for what, source in {"npy": {"format": "npy", "layout": "i8[time]"},
                             "raw": {"format": "raw", "layout": "i8[time]", "shape": [-1]}}.items():
            with self.subTest(what):
                stages = copy_stages("[time]", {"path": path, **source})
                self.check_error(stages, ": wants a file of known length, but is given one that "
                                         "says 0 bytes and holds more: make a copy of it")

    def test_no_layout(self):
        stages = copy_stages("cf32[time pol]")
        del stages["in"]["layout"]
        self.check_error(stages, "wants 'layout' beside it, or a file in.npy.json that has one")

    def check_refused(self, stages, ending):
        """The graph is refused when it is checked, and nothing is written."""
        before = sorted(self.folder.iterdir())
        result = subprocess.run([graphs.COMMAND, "check", self.write(stages)], cwd=self.folder,
                                capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertTrue(result.stderr.strip().endswith(ending), result.stderr)
        self.check_error(stages, ending)
        self.assertEqual(set(self.folder.iterdir()) - set(before) - {self.folder / "graph.yaml"},
                         set())

    def test_unwritable(self):
        (self.folder / "folder.npy").mkdir()
        (self.folder / "folder.raw.json").mkdir()
        (self.folder / "text").write_text("")
        wanted = "wants a regular file in its place, but is given a folder or device"
        for path, ending in (
                ("none/out.npy",
                 "wants a folder to write to, but is given 'none': No such file or directory"),
                ("text/out.npy",
                 "wants a folder to write to, but is given 'text': Not a directory"),
                ("folder.npy", f"parameter 'path': folder.npy: {wanted}"),
                ("folder.raw", f"parameter 'path': folder.raw.json: {wanted}")):
            with self.subTest(path):
                self.check_refused(copy_stages("cf32[time pol]", None, {"path": path}), ending)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_folder_of_others(self):
        (self.folder / "theirs").mkdir(mode=0o500)
        self.check_refused(copy_stages("cf32[time pol]", None, {"path": "theirs/out.npy"}),
                           "wants a folder to write to, but is given 'theirs': Permission denied")

    def test_names_without_format(self):
        for path in ("out.xyz", "out", "out.npy.gz", "out.NPY"):
            wanted = f", or 'format' beside it, but is given '{path}'"
            with self.subTest(path):
                self.check_refused(copy_stages("cf32[time pol]", None, {"path": path}), wanted)
                (self.folder / path).write_bytes(self.array.tobytes())
                self.check_refused(copy_stages("cf32[time pol]", {"path": path}), wanted)
                self.run_graph(copy_stages(
                    "cf32[time pol]", {"path": path, "format": "raw", "shape": [37, 2]},
                    {"path": path + "x", "format": "raw"}))
                self.assertEqual((self.folder / (path + "x")).read_bytes(), self.array.tobytes())

    def test_path_that_another_node_uses(self):
        (self.folder / "deep").mkdir()
        (self.folder / "link").symlink_to("deep")
        (self.folder / "to-in.npy").symlink_to("in.npy")
        os.link(self.folder / "in.npy", self.folder / "hard.npy")
        stages = copy_stages("cf32[time pol]")
        for first, second, ending in (
                ("out.npy", "out.npy", "'out.npy', which node 'out' writes"),
                ("out.npy", "./out.npy", "'./out.npy', which node 'out' writes as 'out.npy'"),
                ("deep/out.npy", "link/../deep/out.npy",
                 "'link/../deep/out.npy', which node 'out' writes as 'deep/out.npy'"),
                ("deep/out.npy", "link/out.npy",
                 "'link/out.npy', which node 'out' writes as 'deep/out.npy'"),
                ("out.npy", "out.npy.json", "'out.npy.json', which node 'out' writes")):
            with self.subTest(first=first, second=second):
                stages["out"] = {**stages["out"], "path": first, "format": "npy"}
                stages["twin"] = {**stages["out"], "path": second}
                self.check_refused(
                    stages, f"wants files that no other node uses, but would write {ending}")
        del stages["twin"]
        for path, ending in (
                ("in.npy", "'in.npy', which node 'in' reads"),
                (str(self.folder / "in.npy"),
                 f"'{self.folder}/in.npy', which node 'in' reads as 'in.npy'"),
                ("to-in.npy", "'to-in.npy', which node 'in' reads as 'in.npy'"),
                ("hard.npy", "'hard.npy', which node 'in' reads as 'in.npy'"),
                ("in.npy.json", "'in.npy.json', which node 'in' reads")):
            with self.subTest(path):
                stages["out"] = {**stages["out"], "path": path, "format": "npy"}
                self.check_refused(
                    stages, f"wants files that no other node uses, but would write {ending}")

    def test_path_of_the_graph(self):
        """A sink refuses to replace the graph's own file."""
        (self.folder / "to-graph.npy").symlink_to("graph.yaml")
        stages = copy_stages("cf32[time pol]")
        for path, ending in (
                ("graph.yaml", "'graph.yaml', from which the graph is read"),
                ("./graph.yaml", "'./graph.yaml', from which the graph is read as 'graph.yaml'"),
                ("to-graph.npy", "'to-graph.npy', from which the graph is read as 'graph.yaml'")):
            with self.subTest(path):
                stages["out"] = {**stages["out"], "path": path, "format": "npy"}
                self.check_refused(
                    stages, f"wants files that nobody else uses, but would write {ending}")
        stages["out"] = {**stages["out"], "path": "out.npy"}
        graph = self.write(stages, "out.npy.json")
        done = graphs.subprocess.run([graphs.COMMAND, "check", graph], cwd=self.folder, text=True,
                                     capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertIn("would write 'out.npy.json', from which the graph is read", done.stderr)

    def test_replaced_since_the_plan(self):
        """An array that is replaced by a smaller one after planning is an error, not read past its
        end."""
        text = ("stages: { in: { stage: file.source, path: '%s/in.npy', layout: 'cf32[time pol]' },"
                " out: { stage: discard, from: in } }" % self.folder).encode()
        for other in (self.array[:20], self.array[:, :1]):
            np.save(self.folder / "in.npy", self.array)
            planned = pipeline._call("parse", text, len(text), b"test")
            try:
                pipeline._call("describe", planned, b"json")
                np.save(self.folder / "in.npy", other)
                with self.assertRaisesRegex(pipeline.Failure, "in.npy: wants the array that the "
                                            "graph was checked with .*, but it has been replaced"):
                    pipeline._call("start", planned)
            finally:
                pipeline._library.ct_pipeline_free(planned)

    def test_partial_path(self):
        """A sink refuses a name that ends in .partial, because another sink may write there."""
        self.check_error(copy_stages("cf32[time pol]", None, {"path": "out.npy.partial", "format": "npy"}),
                         "parameter 'path': wants a name without the ending .partial, but is given "
                         "'out.npy.partial'")

    def limit_files(self):
        """Limits the size of files, which works as a full disk does and needs no rights."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    def test_file_too_large(self):
        array = np.random.default_rng(2).standard_normal((50000, 2)).astype(np.float32)
        np.save(self.folder / "in.npy", array)
        stages = copy_stages("f32[time pol]", {"block": {"time": 1000}})
        self.check_error(stages, "out.npy.partial: can't be written: File too large",
                         preexec_fn=self.limit_files)
        # The samples that were written are an array, which keeps its partial name.
        partial = np.load(open(self.folder / "out.npy.partial", "rb"))
        self.assertGreater(len(partial), 1000)
        np.testing.assert_array_equal(partial, array[:len(partial)])

        np.save(self.folder / "in.npy", np.ascontiguousarray(array.T))
        self.check_error(copy_stages("f32[pol time]"),
                         "out.npy.partial: can't be written: File too large",
                         preexec_fn=self.limit_files)

    def test_full_disk(self):
        np.save(self.folder / "in.npy", np.zeros((500000, 2), np.float32))
        mount = shutil.which("unshare") and subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
        if not mount or mount.returncode != 0:
            self.skipTest("no folder of its own may be mounted here")
        for layout in ("f32[time pol]", "f32[pol time]"):
            if layout == "f32[pol time]":
                np.save(self.folder / "in.npy", np.zeros((2, 500000), np.float32))
            self.write(copy_stages(layout, None, {"path": "small/out.npy"}))
            (self.folder / "small").mkdir(exist_ok=True)
            result = subprocess.run(
                ["unshare", "-rm", "sh", "-c",
                 f"mount -t tmpfs -o size=1m none small && '{graphs.COMMAND}' run --quiet graph.yaml; "
                 "status=$?; ls small; exit $status"],
                cwd=self.folder, capture_output=True, text=True)
            self.assertNotEqual(result.returncode, 0)
            self.assertTrue(result.stderr.strip().endswith(
                "small/out.npy.partial: can't be written: No space left on device"), result.stderr)
            self.assertEqual(result.stdout.split(), ["out.npy.json.partial", "out.npy.partial"])


if __name__ == "__main__":
    tap.main()
