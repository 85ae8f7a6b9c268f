#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad input of every kind ends with a status other than zero, one message, and no file under its
final name. The messages here are complete."""
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
SOURCE_ROOT = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
PLUGINS = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"])

SKY = """stages:
  sky: { stage: generate, sample_rate: 1 MHz, samples: 4096, n_stations: 2, n_pols: 2, centre_frequency: 10 MHz, block: { time: 512 } }
"""
SINK = "  out: { stage: file.sink, from: x, path: out.npy }\n"


def graph(*lines):
    """A graph of the sky and these stages, which begin on line 3."""
    return SKY + "".join(f"  {line}\n" for line in lines)


def fails(stage):
    """A graph with a stage of the plugin `fail` between the sky and a sink."""
    return graph(f"x: {{ stage: {stage}, from: sky }}") + SINK


def source(parameters):
    return f"stages:\n  a: {{ stage: file.source, {parameters} }}\n"


# Errors in the text.
TEXTS = {
    "an empty file": ("", "1:1: wants a graph: { stages: … }, but is given nothing"),
    "a list": ("- a\n", "1:1: wants a graph: { stages: … }, but is given a list of 1"),
    "an open brace": (
        "stages: { a: { stage: x }\n",
        "2:1: not YAML: while parsing a flow mapping that begins in line 1, did not find expected "
        "',' or '}'"),
    "a tab": (
        "stages:\n\ta: b\n",
        "2:1: not YAML: while scanning for the next token, found character that cannot start any "
        "token: YAML indents by spaces, not by tabs"),
    "an open quote": (
        "stages: 'a\n",
        "2:1: not YAML: while scanning a quoted scalar that begins in line 1, found unexpected end of stream"),
    "a layout without quotation marks": (
        "# é\nstages:\n  a: { stage: file.source, path: x.raw, layout: ci8[time pol] }\n",
        "3:52: not YAML: while parsing a flow mapping, did not find expected ',' or '}': a text with "
        "brackets or braces stands in quotation marks here"),
    "a second document": (SKY + "---\na: b\n", "3:1: a second document begins here"),
    "a NUL byte": ("stages: \0\n", "1:9: not text: control characters are not allowed (0x00)"),
    "bad UTF-8": ("stages: \udcff\n", "1:9: not text: invalid leading UTF-8 octet (0xff)"),
    "a NUL escape": ('stages: "\\0"\n', "1:9: a text cannot hold a NUL character"),
    "an alias": (
        "stages: { a: &x { stage: y }, b: *y }\n",
        "1:34: alias '*y' wants a value that is marked by '&y' and ends before it"),
    "a tag": ("stages: !!map {}\n", "1:9: tags (tag:yaml.org,2002:map) are not taken"),
    "deep nesting": ("[" * 5000, "1:34: nested more than 32 deep"),
    "a key that is no name": ("? [a]\n: b\n", "1:3: a key wants to be a name, but is given a list of 1"),
    "a key twice": (
        graph("x: { stage: fir }", "x: { stage: fft }"), "4:3: key 'x' stands twice, first in line 3"),
    "a parameter twice": (
        graph("x: { stage: fir, n_taps: 1, n_taps: 2 }"),
        "3:31: key 'n_taps' stands twice, first in line 3"),
    "an unknown key": ("stage: {}\n", "1:1: there is no key 'stage'; did you mean 'stages'?"),
    "no stages": ("backend: cpu\n", "1:1: key 'stages' is missing"),
    "stages without any": (
        "stages: {}\n", "1:9: 'stages' wants a mapping from names to stages, but is given none"),
    "a node that is no mapping": (
        graph("x: fir"), "3:6: node 'x': wants { stage: NAME, … }, but is given 'fir'"),
    "a node without stage": (graph("x: { from: sky }"), "3:3: node 'x': key 'stage' is missing"),
    "a node's name": (
        graph("x.y: { stage: fir }"),
        "3:3: a node's name wants letters, digits, _ and -, but is given 'x.y'"),
    "a backend": (
        "backend: gpu\n" + SKY,
        "1:10: 'backend' wants auto, reference, cpu, cuda or cuda:N, but is given 'gpu'"),
    "a block": (
        "block: { time: few }\n" + SKY,
        "1:16: 'block' wants a number of samples, 1 to 1099511627776, but is given 'few'"),
    "a block beyond counting": (
        "block: { time: 4611686018427387904 }\n" + SKY,
        "1:16: 'block' wants a number of samples, 1 to 1099511627776, but is given "
        "'4611686018427387904'"),
    "a block along another axis": (
        "block: { channel: 4 }\n" + SKY,
        "1:10: 'block' wants the key 'time' alone, but is given 'channel'"),
    "an empty from": (graph("x: { stage: fft, from: [] }"), "3:26: node 'x': 'from' is an empty list"),
    "a link of three parts": (
        graph("x: { stage: fft, from: a.b.c }"),
        "3:26: node 'x': 'from' wants node or node.port, but is given 'a.b.c'"),
}

# Errors that show when the stages are known.
GRAPHS = {
    "an unknown stage": (
        graph("x: { stage: fri, from: sky }"),
        "3:15: node 'x': there is no stage 'fri'; did you mean 'fir'?"),
    "a stage that is like no other": (
        SKY + "  x: { stage: channelizer, from: sky }\n",
        "3:15: node 'x': there is no stage 'channelizer' (`cornerturn inspect` lists what there is)"),
    "an unknown parameter": (
        graph("x: { stage: fir, from: sky, n_tap: 4 }"),
        "3:31: node 'x': stage 'fir' has no parameter 'n_tap'; did you mean 'n_taps'?"),
    "a parameter that is missing": (
        "stages: { sky: { stage: generate } }\n",
        "1:11: node 'sky': parameter 'sample_rate' is missing: stage 'generate' wants a frequency "
        "such as '200 MHz' from 1 nHz to 1000 THz"),
    "a word for an integer": (
        graph("x: { stage: fir, from: sky, n_taps: many }"),
        "3:39: node 'x': parameter 'n_taps': wants an integer from 1 to 64, but is given 'many'"),
    "a fraction for an integer": (
        graph("x: { stage: fir, from: sky, n_taps: 1.5 }"),
        "3:39: node 'x': parameter 'n_taps': wants an integer from 1 to 64, but is given '1.5'"),
    "an integer out of range": (
        graph("x: { stage: fir, from: sky, n_taps: 65 }"),
        "3:39: node 'x': parameter 'n_taps': wants an integer from 1 to 64, but is given '65'"),
    "a list for an integer": (
        graph("x: { stage: fir, from: sky, n_taps: [1, 2] }"),
        "3:39: node 'x': parameter 'n_taps': wants an integer from 1 to 64, but is given a list of 2"),
    "nothing for an integer": (
        graph("x: { stage: fir, from: sky, n_taps: }"),
        "3:39: node 'x': parameter 'n_taps': wants an integer from 1 to 64, but is given nothing"),
    "another unit": (
        "stages: { sky: { stage: generate, sample_rate: 5 us } }\n",
        "1:48: node 'sky': parameter 'sample_rate': wants a frequency such as '200 MHz', but is "
        "given '5 us'"),
    "a unit's case": (
        "stages: { sky: { stage: generate, sample_rate: 5 mhz } }\n",
        "1:48: node 'sky': parameter 'sample_rate': wants a frequency such as '200 MHz', but is "
        "given '5 mhz'; did you mean 'MHz'?"),
    "another choice": (
        graph("x: { stage: fir, from: sky, n_channels: 4, n_taps: 4, window: haming }"),
        "3:65: node 'x': parameter 'window': wants one of rectangular, hanning, hamming, blackman, "
        "kaiser, but is given 'haming'; did you mean 'hamming'?"),
    "a word for a truth": (
        graph("x: { stage: fft, from: sky, shift: yes }"),
        "3:38: node 'x': parameter 'shift': wants true or false, but is given 'yes'"),
    "an unknown type": (
        "stages: { sky: { stage: generate, sample_rate: 1 Hz, type: cf23 } }\n",
        "1:60: node 'sky': parameter 'type': wants a type such as ci8, but is given 'cf23'; did you "
        "mean 'cf32'?"),
    "a malformed layout": (
        source('path: good.npy, layout: "cf32[time", sample_rate: 1 MHz'),
        "2:52: node 'a': parameter 'layout': '[' is never closed by ']'\n  cf32[time\n      ^"),
    "a layout of an unknown type": (
        source('path: good.npy, layout: "cf23[time]", sample_rate: 1 MHz'),
        "2:52: node 'a': parameter 'layout': "),
    "a node that is not there": (
        graph("x: { stage: fft, from: skye }"),
        "3:26: node 'x': 'from' wants a node of this graph, but is given 'skye'; did you mean 'sky'?"),
    "an output that is not there": (
        graph("x: { stage: fft, from: sky.volts }"),
        "3:26: node 'x': node 'sky' ('generate') has no output port 'volts'; it has voltages"),
    "an input that is not there": (
        graph("x: { stage: fft, from: { inn: sky } }"),
        "3:33: node 'x': 'fft' has no input port 'inn'; did you mean 'in'?"),
    "an input without link": (
        graph("x: { stage: fir, n_channels: 4, n_taps: 2 }"),
        "3:3: node 'x': port 'in' wants an input, but nothing is connected to it: say `from: NODE`"),
    "too many links": (
        graph("x: { stage: fft, from: [sky, sky] }"),
        "3:32: node 'x': 'fft' wants at most 1 input, but is given 2"),
    "an array of another shape": (
        graph("x: { stage: fir, from: [sky, sky], n_channels: 4, n_taps: 2 }"),
        "3:32: node 'x': port 'coefficients' wants f32|f64{tap phase ...}, but 'sky' gives cf32, "
        "time 4096, station 2, pol 2"),
    "a source with an input": (
        graph("x: { stage: generate, from: sky, sample_rate: 1 MHz }"),
        "3:31: node 'x': 'generate' is a source and takes no input, but is given 'sky'"),
    "a cycle": (
        graph("x: { stage: fir, from: y, n_channels: 4, n_taps: 2 }", "y: { stage: fft, from: x }"),
        "3:3: node 'x': wants its own output as input, a cycle: x -> y -> x"),
    "a node that feeds itself": (
        graph("x: { stage: fft, from: x }"),
        "3:3: node 'x': wants its own output as input, a cycle: x -> x"),
    "an axis of two words": (
        graph('x: { stage: fft, from: sky, axis: station, to: "A b" }'),
        "3:50: node 'x': parameter 'to': wants an axis name (a-z 0-9 _ and a final '), but is given "
        "'A b'"),
    "a stream without the axis": (
        graph("x: { stage: fft, from: sky }"),
        "3:3: node 'x': wants the axis phase (as fir makes it, or 'axis' names another one), but is "
        "given time 4096, station 2, pol 2"),
    "a stream with the axis already": (
        graph("x: { stage: fir, from: sky, n_channels: 4, n_taps: 2 }",
              "y: { stage: fir, from: x, n_channels: 4, n_taps: 2 }"),
        "4:3: node 'y': wants a stream without the axis phase, but is given one with it"),
    "streams of other shapes": (
        graph("b: { stage: generate, sample_rate: 1 MHz, samples: 9, n_stations: 3, n_pols: 1, "
              "centre_frequency: 10 MHz }", "x: { stage: stack, from: [sky, b], axis: station }"),
        "4:3: node 'x': wants inputs that agree, but 'sky' and 'b' have 2 and 1 along 'pol'"),
    "streams of other rates": (
        graph("b: { stage: generate, sample_rate: 2 MHz, samples: 9, n_stations: 3, n_pols: 2, "
              "centre_frequency: 10 MHz }", "x: { stage: stack, from: [sky, b], axis: station }"),
        "4:3: node 'x': wants inputs that agree, but 'sky' and 'b' have clocks of 1e+06 and 2e+06 "
        "ticks per second"),
    "a stage that fails in infer": (fails("fail.infer"), "3:3: node 'x': wants to fail in infer, and does"),
    "a stage without variant": (fails("fail.variant"), "3:3: node 'x': stage 'fail.variant' has no variant"),
    "a backend that is not there": (
        graph("x: { stage: fail.work, from: sky, backend: cuda }"),
        "3:3: node 'x': no variant of 'fail.work' can run here (reference: backend 'cuda' is asked "
        "for)"),
    "a device that is not there": (
        "backend: cuda\n" + graph("x: { stage: fail.work, from: sky }"),
        "1:10: backend 'cuda' is asked for, but cuda is not available: CORNERTURN_CUDA=off "
        "forbids it"),
    "a device that is not there, for one stage": (
        "stages:\n  sky: { stage: generate, sample_rate: 1 MHz, samples: 9, backend: 'cuda:1' }\n",
        "2:68: node 'sky': backend 'cuda' is asked for, but cuda is not available: "
        "CORNERTURN_CUDA=off forbids it"),
    "a variant that is not there": (
        graph("x: { stage: fail.work, from: sky, variant: fast }"),
        "3:46: node 'x': stage 'fail.work' has no variant 'fast'; it has reference"),
    "a sink's layout": (
        graph('x: { stage: file.sink, from: sky, path: out.npy, layout: "[time station beam]" }'),
        "3:60: node 'x': parameter 'layout': [time station beam] wants an axis 'beam', but is given "
        "time 4096, station 2, pol 2"),
    "a sink's layout with too few axes": (
        graph('x: { stage: file.sink, from: sky, path: out.npy, layout: "[time station]" }'),
        "3:60: node 'x': parameter 'layout': [time station] has no place for the axis 'pol': it is "
        "given time 4096, station 2, pol 2"),
    "a sink's type, with loss": (
        graph('x: { stage: file.sink, from: sky, path: out.npy, layout: "ci8[time station pol]" }'),
        "3:3: node 'x': no variant of 'file.sink' can run here (cpu 'any: [...] ->': input 'samples' "
        "wants ci8[time station pol], but is given cf32)"),
    "a file that is missing": (
        source('path: nix.npy, layout: "cf32[time]", sample_rate: 1 MHz'),
        "2:3: node 'a': nix.npy: can't be opened: No such file or directory"),
    "a file of something else": (
        source('path: text.npy, layout: "cf32[time]", sample_rate: 1 MHz'),
        "2:3: node 'a': text.npy: not an .npy file: it does not begin with \\x93NUMPY"),
    "a truncated file": (
        source('path: short.npy, layout: "cf32[time]", sample_rate: 1 MHz'),
        "2:3: node 'a': short.npy: wants 800 bytes of data as its header says, but is given 700 "
        "(truncated)"),
    "a file of other axes": (
        source('path: good.npy, layout: "cf32[time pol]", sample_rate: 1 MHz'),
        "2:52: node 'a': parameter 'layout': wants the 1 axes of good.npy, but is given 2"),
    "a file without elements": (
        source('path: none.npy, layout: "cf32[time pol]", sample_rate: 1 MHz'),
        "2:3: node 'a': none.npy: wants at least one element along pol, but is given none"),
    "a shape beside an .npy file": (
        source('path: good.npy, layout: "cf32[time]", shape: [100], sample_rate: 1 MHz'),
        "2:73: node 'a': parameter 'shape': is for raw arrays, but good.npy is an .npy file, which "
        "has its own"),
    "a pipe for coefficients": (
        graph("x: { stage: fir, from: sky, n_channels: 4, coefficients: pipe }"),
        "3:60: node 'x': parameter 'coefficients': pipe: not an .npy file: not a file"),
    "coefficients that are missing": (
        graph("x: { stage: fir, from: sky, coefficients: nix.npy }"),
        "3:45: node 'x': parameter 'coefficients': nix.npy: can't be opened: No such file or "
        "directory"),
    "complex coefficients": (
        graph("x: { stage: fir, from: sky, n_channels: 4, coefficients: good.npy }"),
        "3:60: node 'x': parameter 'coefficients': good.npy: wants real elements, but is given "
        "complex ones"),
    "a recording of something else": (
        "stages:\n  a: { stage: vdif.source, path: text.npy }\n",
        "2:3: node 'a': text.npy: wants VDIF frames, but is given 6 bytes without any"),
    "a capture of something else": (
        "stages:\n  a: { stage: lofar.source, paths: text.npy }\n",
        "2:3: node 'a': text.npy: "),
    "a folder that is not there": (
        graph("x: { stage: file.sink, from: sky, path: nix/out.npy }"),
        "3:43: node 'x': parameter 'path': wants a folder to write to, but is given 'nix': No such file "
        "or directory"),
    "a folder for a file": (
        graph("x: { stage: file.sink, from: sky, path: folder, format: npy }"),
        "3:43: node 'x': parameter 'path': folder: wants a regular file in its place, but is given a "
        "folder or device"),
    "a folder for the file beside it": (
        graph("x: { stage: file.sink, from: sky, path: beside.npy }"),
        "3:43: node 'x': parameter 'path': beside.npy.json: wants a regular file in its place, but is "
        "given a folder or device"),
    "a device for a file": (
        graph("x: { stage: file.sink, from: sky, path: /dev/null, format: raw }"),
        "3:43: node 'x': parameter 'path': /dev/null: wants a regular file in its place, but is given a "
        "folder or device"),
    "a file that is no array by its name": (
        graph("x: { stage: file.sink, from: sky, path: out.xyz }"),
        "3:43: node 'x': parameter 'path': wants a name that ends in "),
    "two sinks of one path": (
        graph("x: { stage: file.sink, from: sky, path: out.npy }",
              "y: { stage: file.sink, from: sky, path: out.npy }"),
        "4:43: node 'y': parameter 'path': wants files that no other node uses, but would write "
        "'out.npy', which node 'x' writes"),
    "coefficients that a sink writes": (
        graph("f: { stage: fir, from: sky, n_channels: 4, n_taps: 4, coefficients: taps.npy }",
              "y: { stage: file.sink, from: sky, path: taps.npy }"),
        "4:43: node 'y': parameter 'path': wants files that no other node uses, but would write "
        "'taps.npy', which node 'f' reads"),
}

# Errors of `check`; `run` reads these pipes.
PIPES = {
    "a pipe for an array": (
        source('path: pipe, format: npy, layout: "cf32[time]", sample_rate: 1 MHz'),
        "2:34: node 'a': parameter 'path': wants a file, but 'pipe' is a pipe, which can be read "
        "only once: by 'cornerturn run'"),
    "a pipe for elements": (
        source('path: pipe, format: raw, layout: "cf32[time]", shape: [-1], sample_rate: 1 MHz'),
        "2:34: node 'a': parameter 'path': wants a file, but 'pipe' is a pipe, which can be read "
        "only once: by 'cornerturn run'"),
}

# Errors that show during the run.
RUNS = {
    "a stage that fails in prepare": (fails("fail.prepare"), "3:3: node 'x': wants to fail in prepare, and does"),
    "a stage that finds no memory": (fails("fail.memory"), "3:3: node 'x': no memory for 8 EiB"),
    "a stage that fails in advance": (fails("fail.advance"), "3:3: node 'x': wants to fail in advance, and does"),
    "a stage that fails in work": (fails("fail.work"), "3:3: node 'x': wants to fail in work, and does"),
    "a program's blocks without a program": (
        "stages:\n  a: { stage: input, layout: 'cf32[time]', shape: -1 }\n",
        "2:3: node 'a': wants blocks of a program, but is given none here"),
    "blocks for a program without one": (
        graph("x: { stage: output, from: sky }"),
        "3:3: node 'x': wants a program that takes its blocks, but is given none here"),
}


class Errors(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "folder").mkdir()
        (self.folder / "beside.npy.json").mkdir()
        (self.folder / "text.npy").write_text("hello\n")
        header = b"{'descr': '<c8', 'fortran_order': False, 'shape': (100,), }".ljust(117) + b"\n"
        array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(800)
        (self.folder / "good.npy").write_bytes(array)
        taps = header.replace(b"<c8", b"<f4").replace(b"(100,)", b"(4, 4)")
        (self.folder / "taps.npy").write_bytes(array[:10] + taps + bytes(64))
        (self.folder / "short.npy").write_bytes(array[:-100])
        none = header.replace(b"(100,)", b"(0, 0)")
        (self.folder / "none.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + none)
        os.mkfifo(self.folder / "pipe")
        (self.folder / "plugins").mkdir()
        self.add_plugin("fail")
        self.given = {path.name for path in self.folder.iterdir()} | {"g.yaml"}

    def add_plugin(self, name):
        (self.folder / "plugins" / f"ct-{name}.so").symlink_to(PLUGINS / f"ct-{name}.so")

    def run_command(self, *arguments, text=None, environment=None, **options):
        if text is not None:
            (self.folder / "g.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
        path = f"{self.folder / 'plugins'}:{os.environ['CORNERTURN_PLUGIN_PATH']}"
        return subprocess.run(
            [COMMAND, *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
            timeout=120, env={**os.environ, "CORNERTURN_PLUGIN_PATH": path, "CORNERTURN_CUDA": "off",
                              **(environment or {})},
            **options)

    def check_failure(self, result, message):
        """Checks that the run failed with `message`; if that ends in a blank, a library's words
        follow."""
        # A run that fails prints its statistics.
        self.assertRegex(result.stdout, r"(?s)\A(?:node .*\nfailed\n)?\Z")
        # The address sanitizer prints its own warning if there is no memory.
        said = re.sub(r"^==\d+==WARNING: .*\n", "", result.stderr, flags=re.M)
        if message.endswith(" "):
            self.assertTrue(said.startswith(message), said)
        else:
            self.assertEqual(said, message + "\n")
        self.assertEqual(result.returncode, 1)
        made = {path.name for path in self.folder.iterdir()} - self.given
        self.assertEqual({name for name in made if not name.endswith(".partial")}, set())

    def check_table(self, table, *commands):
        for name, (text, message) in table.items():
            for command in commands:
                with self.subTest(f"{name}: {command}"):
                    result = self.run_command(*command.split(), "g.yaml", text=text)
                    self.check_failure(result, f"g.yaml:{message}")

    def test_texts(self):
        self.check_table(TEXTS, "check")

    def test_graphs(self):
        self.check_table(GRAPHS, "check", "run")

    def test_pipes(self):
        self.check_table(PIPES, "check")

    def test_runs(self):
        self.check_table(RUNS, "run", "run --workers 1")

    def test_a_run_that_fails_keeps_what_it_had_as_partial(self):
        self.check_failure(self.run_command("run", "g.yaml", text=fails("fail.work")),
                           "g.yaml:3:3: node 'x': wants to fail in work, and does")
        self.assertTrue((self.folder / "out.npy.partial").exists())

    def test_a_result_of_before_survives(self):
        (self.folder / "out.npy").write_text("precious")
        self.given.add("out.npy")
        self.check_failure(self.run_command("run", "g.yaml", text=fails("fail.work")),
                           "g.yaml:3:3: node 'x': wants to fail in work, and does")
        self.assertEqual((self.folder / "out.npy").read_text(), "precious")

    def test_graph_files(self):
        self.check_failure(self.run_command("check", "nix.yaml"),
                           "nix.yaml: cannot be read: No such file or directory")
        self.check_failure(self.run_command("check", "folder"),
                           "folder: cannot be read: Is a directory")
        self.check_failure(self.run_command("check", "/dev/zero"),
                           "/dev/zero: wants at most 16777216 bytes, but has more")

    def test_overrides(self):
        text = graph("x: { stage: fir, from: sky, n_channels: 4, n_taps: 4 }")
        for override, message in {
                "x": "wants node.parameter=value",
                "y.n_taps=4": "there is no node 'y'; there is sky, x",
                "skye.samples=4": "there is no node 'skye'; did you mean 'sky'?",
                "x.n_taps=[": "not YAML: while parsing a flow node, did not find expected node content",
                "x.n_taps=many": "node 'x': parameter 'n_taps': wants an integer from 1 to 64, but is "
                                 "given 'many'",
                "x.n_tap=4": "node 'x': stage 'fir' has no parameter 'n_tap'; did you mean 'n_taps'?",
                "x.from=x": "node 'x': wants its own output as input, a cycle: x -> x",
        }.items():
            with self.subTest(override):
                result = self.run_command("check", "--set", override, "g.yaml", text=text)
                place = "g.yaml:3:3" if "cycle" in message else f"--set {override}"
                self.check_failure(result, f"{place}: {message}")

    def test_options(self):
        """Options whose value is another option's, or no one's."""
        text = graph("x: { stage: fir, from: sky, n_channels: 4, n_taps: 4 }")
        for options, message in {
                "--backend skye=cpu": "--backend: g.yaml has no node 'skye'; did you mean 'sky'?",
                "--backend sky=gpu": "--backend: wants auto, reference, cpu, cuda or cuda:N, but is "
                                     "given 'gpu'",
                "--variant sky=references": "--variant sky=references: stage 'generate' has no variant "
                                          "'references'; did you mean 'reference'?",
                "--variant sky=reference:tile=1": "--variant sky=reference:tile=1: variant "
                                                  "'reference' has no tunable 'tile'; it has none",
        }.items():
            with self.subTest(options):
                self.check_failure(self.run_command("plan", *options.split(), "g.yaml", text=text),
                                   message)

    def test_output_that_does_not_arrive(self):
        (self.folder / "g.yaml").write_text(SKY + "  out: { stage: discard, from: sky }\n")
        for arguments in (["plan", "g.yaml"], ["run", "g.yaml"], ["inspect"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([COMMAND, *arguments], cwd=self.folder, stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "standard output: cannot be written\n"), arguments)

    def check_left_out(self, plugin, reason):
        result = self.run_command("check", "g.yaml", text=graph("x: { stage: hollow, from: sky }"))
        path = self.folder / "plugins" / plugin
        self.check_failure(result, "g.yaml:3:15: node 'x': there is no stage 'hollow' (left out: "
                                   f"{path}: {reason}")

    def test_plugin_of_another_abi(self):
        self.add_plugin("old")
        header = (SOURCE_ROOT / "core/include/cornerturn/stage.h").read_text()
        abi = int(re.search(r"^#define CT_ABI_VERSION (\d+)", header, re.M)[1])
        self.check_left_out("ct-old.so", f"is of ABI version {abi + 98}, but this Cornerturn wants "
                                         f"version {abi})")

    def test_plugin_that_is_none(self):
        self.add_plugin("foreign")
        self.check_left_out("ct-foreign.so",
                            "is not a plugin of Cornerturn: it has no symbol ct_plugin)")

    def test_plugin_without_rule(self):
        self.add_plugin("hollow")
        self.check_left_out("ct-hollow.so", "stage 'hollow': infer: wants a function, but is given none)")

    def test_plugin_that_is_text(self):
        (self.folder / "plugins" / "ct-text.so").write_text("hello\n")
        self.check_left_out("ct-text.so", "is no shared object of this machine)")

    def test_plugins_of_one_stage(self):
        self.add_plugin("double")
        folder = self.folder / "plugins"
        self.check_failure(
            self.run_command("check", "g.yaml", text=fails("fail.work")),
            f"stage 'fail.work' stands in two plugins: {folder}/ct-double.so and {folder}/ct-fail.so")

    def test_cap_on_the_instruction_set(self):
        result = self.run_command("check", "g.yaml", text=SKY, environment={"CORNERTURN_ISA": "sse9"})
        self.check_failure(result, "CORNERTURN_ISA wants baseline, avx2, avx512, avxvnni, avx512vnni or "
                           "amx, but is given 'sse9'")

    def test_number_of_workers(self):
        for value in ("0", "4097", "-1", "two", "1e3"):
            result = self.run_command("check", "g.yaml", text=SKY,
                                      environment={"CORNERTURN_WORKERS": value})
            self.check_failure(
                result, f"CORNERTURN_WORKERS wants a number from 1 to 4096, but is given '{value}'")

    def test_limit_on_files(self):
        """A limit on the size of files makes a write fail, as a quota does."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
        text = graph("x: { stage: file.sink, from: sky, path: out.npy }")
        self.check_failure(self.run_command("run", "g.yaml", text=text, preexec_fn=limit),
                           "g.yaml:3:3: node 'x': out.npy.partial: can't be written: File too large")

    def test_full_disk(self):
        unshare = shutil.which("unshare")
        probe = unshare and subprocess.run(
            [unshare, "-rm", "mount", "-t", "tmpfs", "none", str(self.folder / "folder")],
            capture_output=True, check=False)
        if not probe or probe.returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        text = graph("x: { stage: file.sink, from: sky, path: folder/out.npy }")
        (self.folder / "g.yaml").write_text(text)
        script = ('mount -t tmpfs -o size=64k none folder && "$0" run g.yaml; status=$?; '
                  '[ ! -e folder/out.npy ] || exit 9; exit $status')
        path = f"{self.folder / 'plugins'}:{os.environ['CORNERTURN_PLUGIN_PATH']}"
        result = subprocess.run([unshare, "-rm", "sh", "-c", script, COMMAND], cwd=self.folder,
                                capture_output=True, text=True, check=False, timeout=120,
                                env={**os.environ, "CORNERTURN_PLUGIN_PATH": path})
        self.check_failure(result, "g.yaml:3:3: node 'x': folder/out.npy.partial: can't be written: "
                                   "No space left on device")


if __name__ == "__main__":
    tap.main()
