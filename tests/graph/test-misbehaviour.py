#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a plugin at fault: each fault is one error, which names place, node, function and
fault, and the command ends by itself. tests/plugins/break.c makes the fault that the parameter
`how` names."""
import os
import pathlib
import resource
import subprocess
import tempfile
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
PLUGINS = os.environ["CORNERTURN_TEST_PLUGINS"]

GRAPH = """stages:
  sky: {{ stage: generate, sample_rate: 1 MHz, samples: 4096, n_stations: 2, n_pols: 2, centre_frequency: 10 MHz, block: {{ time: 512 }} }}
  x: {{ stage: {stage}, from: {node}, variant: {variant}, how: "{how}" }}
  out: {{ stage: discard, from: x }}
"""
SINK = """stages:
  sky: {{ stage: generate, sample_rate: 1 MHz, samples: 4096, centre_frequency: 10 MHz, type: cf32 }}
  x: {{ stage: break.sink, from: sky, how: "{how}" }}
"""
SOURCE = """stages:

  x: {{ stage: break.source, how: "{how}" }}
  out: {{ stage: discard, from: x }}
"""

STAGE = "the plugin of stage 'break.pass' is at fault: "
CPU = "variant 'cpu' of 'break.pass' is at fault: "
NEWER = "sets a member that this Cornerturn does not know: the plugin wants a newer one"
UNKNOWN = "asks for parameter 'unknown', which is not in the table of 'break.pass'"

# Faults that `check` finds.
CHECKED = {
    "infer: silent": STAGE + "its infer returns FALSE without an error",
    "infer: sets an error": STAGE + "its infer returns TRUE, but sets an error: all is well",
    "infer: unknown parameter": f"{STAGE}its infer {UNKNOWN}",
    "infer: error of unknown parameter": f"{STAGE}its infer {UNKNOWN}",
    "infer: warning of unknown parameter": f"{STAGE}its infer {UNKNOWN}",
    "infer: other kind": STAGE + "its infer asks for parameter 'how' by the getter of another kind",
    "infer: item past the end":
        STAGE + "its infer asks for item [3][0] of parameter 'list', which has 2 by 1",
    "infer: no type": STAGE + "it describes nothing for its output 'out'",
    "infer: wild type": STAGE + "output 'out' is of type 77, which is none",
    "infer: too many axes": STAGE + "output 'out' has 1000 axes, but wants 12 at most",
    "infer: nameless axis": STAGE + "output 'out' has a 3. axis without a name",
    "infer: foreign axis name":
        STAGE + "output 'out' has an axis 'pol' whose name is not that of ct_axis_name",
    "infer: negative axis": STAGE + "output 'out' has an axis 'pol' of length -2",
    "infer: nan coordinate": STAGE + "output 'out' has coordinates nan + 0 · i along 'pol'",
    "infer: nan table": STAGE + "output 'out' has the coordinate nan along 'pol'",
    "infer: own parent": STAGE + "output 'out' has coordinates along 'pol' on those along 'pol', "
                                 "which hang on others",
    "infer: short table": STAGE + "output 'out' has 1 coordinates along 'pol', but wants 2",
    "infer: nan frequency": STAGE + "output 'out' has a frequency of nan Hz",
    "infer: wild clock": STAGE + "output 'out' has a clock of 1000000/-1 ticks per second",
    "infer: wild footprint": STAGE + "its footprint is of kind 9, which is none",
    "infer: wild lanes": STAGE + "its footprint merges lanes by rule 9, which is none",
    "infer: needs too much": STAGE + "its footprint needs 2 of a window of 1 samples",
    "infer: other graph": f"{STAGE}its infer puts others in the place of ports",
    "infer: newer footprint": f"{STAGE}its footprint {NEWER}",
    "infer: newer stream": f"{STAGE}output 'out' {NEWER}",
    "infer: newer axis": f"{STAGE}output 'out' {NEWER}",
    "infer: newer wish": f"{STAGE}it asks for a layout of input 0 that is none",
    "infer: wild wish": STAGE + "it asks for a layout of input 0 that is none",
    "infer: other ports": STAGE + "its infer puts others in the place of ports",
}

# Faults that planning finds.
PLANNED = {
    "operations: nan": STAGE + "its operations returns nan, but wants 0 or more",
    "operations: negative": STAGE + "its operations returns -1, but wants 0 or more",
    "operations: unknown parameter": f"{STAGE}its operations {UNKNOWN}",
    "share: zero": CPU + "its share returns 0, but wants more than 0, to 1",
    "share: unknown parameter": f"{CPU}its share {UNKNOWN}",
    "fits: unknown parameter": f"{CPU}its fits {UNKNOWN}",
    "fits: silent": CPU + "its fits returns FALSE without a reason",
    "fits: with a reason": CPU + "its fits returns TRUE, but gives a reason: none",
}

# Faults that the run finds.
RUN = {
    "prepare: silent": CPU + "its prepare returns FALSE without an error",
    "prepare: sets an error": CPU + "its prepare returns TRUE, but sets an error: all is well",
    "prepare: unknown parameter": f"{CPU}its prepare {UNKNOWN}",
    "prepare: error of unknown parameter": f"{CPU}its prepare {UNKNOWN}",
    "prepare: warning of unknown parameter": f"{CPU}its prepare {UNKNOWN}",
    "prepare: newer member": f"{CPU}its prepare {NEWER}",
    "prepare: no items": CPU + "its prepare sets n_items to 0, but wants 1 or more",
    "prepare: negative items": CPU + "its prepare sets n_items to -5, but wants 1 or more",
    "prepare: much scratch": CPU + "its prepare sets scratch_bytes to 9223372036854775807 bytes, but",
    "prepare: half": "got no further",
    "advance: silent": CPU + "its advance returns FALSE without an error",
    "advance: sets an error": CPU + "its advance returns TRUE, but sets an error: all is well",
    "advance: unknown parameter": f"{CPU}its advance {UNKNOWN}",
    "advance: newer member": f"{CPU}its advance {NEWER}",
    "advance: newer input": f"{CPU}its advance {NEWER}",
    "advance: newer output": f"{CPU}its advance {NEWER}",
    "advance: consumes too much": CPU + "its advance consumes ",
    "advance: consumes less than none": CPU + "its advance consumes -1 and uses ",
    "advance: uses too much": CPU + "its advance consumes ",
    "advance: produces too much": CPU + "its advance produces ",
    "advance: produces less than none": CPU + "its advance produces -1 samples of output 0, where ",
    "advance: starts elsewhere": CPU + "its advance starts a block of output 0 at tick ",
    "advance: writes over its offer": CPU + "its advance consumes 1048576 and uses 1048576 of ",
    "work: silent": CPU + "its work returns FALSE without an error",
    "work: sets an error": CPU + "its work returns TRUE, but sets an error: all is well",
    "work: unknown parameter": f"{CPU}its work {UNKNOWN}",
    "work: counts elsewhere":
        CPU + "its work adds to counter 1, but stage 'break.pass' has 0 counters",
    "advance: counts elsewhere":
        CPU + "its advance adds to counter 2, but stage 'break.pass' has 0 counters",
    "work: marks": CPU + "it marks samples of output 'out', which has no CT_PORT_MARKED",
    "finish: unknown parameter": f"{CPU}its finish {UNKNOWN}",
}

SINK_CPU = "variant 'cpu' of 'break.sink' is at fault: "
SUNK = {
    "close: unknown parameter":
        SINK_CPU + "its close asks for parameter 'unknown', which is not in the table of "
                   "'break.sink'",
    "complete: silent": SINK_CPU + "its complete returns FALSE without an error",
    "complete: sets an error": SINK_CPU + "its complete returns TRUE, but sets an error: all is well",
    "complete: unknown parameter":
        SINK_CPU + "its complete asks for parameter 'unknown', which is not in the table of "
                   "'break.sink'",
}

VERIFIED = {
    "accuracy: negative": STAGE + "its accuracy sets errors of -1 and 0.001, but wants 0 or more",
    "accuracy: newer member": f"{STAGE}its accuracy {NEWER}",
    "accuracy: unknown parameter": f"{STAGE}its accuracy {UNKNOWN}",
}


class Misbehaviour(unittest.TestCase):
    def run_command(self, arguments, text, **options):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "g.yaml").write_text(text, encoding="utf-8")
            pathlib.Path(folder, "ct-break.so").symlink_to(f"{PLUGINS}/ct-break.so")
            path = f"{folder}:{os.environ['CORNERTURN_PLUGIN_PATH']}"
            return subprocess.run([COMMAND, *arguments, "g.yaml"], cwd=folder, capture_output=True,
                                  text=True, check=False, timeout=60,
                                  env={**os.environ, "CORNERTURN_PLUGIN_PATH": path}, **options)

    def fails(self, arguments, text, message):
        result = self.run_command(arguments, text)
        self.assertEqual(result.returncode, 1, result.stderr)
        wanted = f"g.yaml:3:3: node 'x': {message}"
        self.assertEqual(result.stderr[:len(wanted)], wanted, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def passes(self, arguments, text):
        result = self.run_command(arguments, text)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def graph(self, how, stage="break.pass", variant="cpu", node="sky"):
        return GRAPH.format(how=how, stage=stage, variant=variant, node=node)

    def check_table(self, table, *commands, text=GRAPH):
        for how, message in table.items():
            for command in commands:
                with self.subTest(f"{how}: {command}"):
                    graph = text.format(how=how, stage="break.pass", variant="cpu", node="sky")
                    self.fails(command.split(), graph, message)

    def test_nothing(self):
        for command in ("check", "plan", "run", "run --workers 1"):
            self.passes(command.split(), self.graph("nothing"))
        self.passes(["run"], SINK.format(how="nothing"))
        self.passes(["run"], SOURCE.format(how="nothing"))

    def test_infer(self):
        self.check_table(CHECKED, "check", "run")

    def test_plan(self):
        self.check_table(PLANNED, "plan", "run")

    def test_run(self):
        self.check_table(RUN, "run", "run --workers 1")

    @unittest.skipIf(os.environ["CORNERTURN_SANITIZER"] != "none", "sanitizers need addresses")
    def test_scratch_that_is_not_there(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        result = self.run_command(["run", "--workers", "4"], self.graph("prepare: large scratch"),
                                  preexec_fn=limit)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (1, "", "the scratch of a worker wants 1.0 GiB of memory: "
                                 "Cannot allocate memory\n"))

    def test_differs(self):
        self.fails(["tune", "--quick", "--quiet", "--no-comparison", "--costs", "costs.db"],
                   self.graph("differs: unknown parameter"), f"{CPU}its differs {UNKNOWN}")

    def test_complete(self):
        self.check_table(SUNK, "run", text=SINK)

    def test_a_source_without_end(self):
        self.fails(["run"], SOURCE.format(how="advance: gives nothing"),
                   "variant 'cpu' of 'break.source' is at fault: its advance has given nothing "
                   "1048576 times in a row, and not ended; one that waits for something sets `waits`")

    def test_accuracy(self):
        self.check_table(VERIFIED, "verify")

    def test_no_rule(self):
        self.assertIn("  x: the stage's own, without a formula\n",
                      self.passes(["verify"], self.graph("nothing")))

    def test_split(self):
        """Faults of `split`: an axis that the stream does not have, and time if several firings
        make a sample."""
        self.fails(["plan"], self.graph("nothing", "break.split", "along-channel"),
                   "variant 'along-channel' of 'break.split' is at fault: it splits along "
                   "'channel', but is given time 4096, station 2, pol 2")
        self.passes(["plan"], self.graph("nothing", "break.split", "along-time"))
        self.fails(["plan"], self.graph("infer: sum", "break.split", "along-time"),
                   "variant 'along-time' of 'break.split' is at fault: it splits along time, but "
                   "its stage sums up over several firings")

    def test_own_footprint_without_advance(self):
        self.fails(["plan"], self.graph("infer: own footprint", variant="reference"),
                   "variant 'reference' of 'break.pass' is at fault: it has no advance, but its stage "
                   "has a footprint of its own")


if __name__ == "__main__":
    tap.main()
