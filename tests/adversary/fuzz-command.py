#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fuzzes the command line: subcommands with random options, on the pipelines made small. Each run
has to end in time, with its work done or with one message: no signal, no assertion, no warning of
GLib.

Subcommands and options are those that --help prints; stages, parameters, variants and tunables are
those that `inspect` prints. CORNERTURN_FUZZ_RUNS is the number of runs, CORNERTURN_FUZZ_SEED the
first seed; run K of seed S is the same every time."""
import collections
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
PIPELINES = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "pipelines"
EMULATED = os.environ.get("CORNERTURN_TEST_BACKEND") == "cuda"
SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
N_RUNS = int(os.environ.get("CORNERTURN_FUZZ_RUNS", 40 if EMULATED or SANITIZED else 125))
SEED = int(os.environ.get("CORNERTURN_FUZZ_SEED", 1))

# A run is interrupted after so many seconds; then it has so many more to end.
PATIENCE, GRACE = 6, 60
MEMORY = 6 << 30

# Overrides that make the pipelines small; other graphs run as they are.
SMALL = {
    "beamformer": ["sky.duration=2 ms", "average.length=16", "sky.n_stations=4"],
    "fx-correlator": ["sky.duration=2 ms", "visibilities.integration=20", "sky.n_stations=4"],
    "interference": ["sky.duration=20 ms", "visibilities.integration=300"],
    "live-imaging": ["array.path=missing"],  # no waiting for packets
    "lofar-1": ["sky.samples=4000", "pointing.n_beams=5", "sky.n_stations=6"],
    "lofar-2": ["sky.samples=4000", "pointing.n_beams=5", "sky.n_stations=6",
                "visibilities.integration=10"],
    "lofar-imaging": ["sky.samples=8000", "sky.n_stations=5", "visibilities.integration=30"],
    "spectrometer": ["sky.duration=2 ms", "average.length=8"],
}

# Values for any option and any parameter.
HOSTILE = ["", " ", "0", "-1", "1", "2", "7", "1e9", "-1e308", "1e400", "nan", "-nan", "inf", "-inf",
           "0x10", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "4294967296", "1.5", "1e-300", "5 parsecs", "1 GHz", "-3 s", "1 ms", "1e30 MHz", "10 %",
           "true", "null", "~", "[]", "{}", "[1, 2", "[[1, 2], [3]]", "{a: b}", "a: b", "&x *x", "*y",
           "!!int x", "'", "\"", "\t", "a\nb", "=", "==", ":", ",", ".", "..", "/", "-", "--", "%s%n",
           "é", "\udcff", "x" * 5000, "[" * 500, "sky", "nobody", "off"]

FORBIDDEN = re.compile(
    r"CRITICAL|WARNING \*\*|GLib|assert|Bail out|\(null\)|runtime error|Sanitizer|%!|uncaught")
NO_MEMORY = re.compile(r"GLib(-[A-Za-z]+)?-?ERROR|failed to allocate|std::bad_alloc")


def output_of(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True).stdout


def subcommands():
    text = output_of("--help").split("Commands:")[1].split("Options:")[0]
    return re.findall(r"^  (\S+)", text, re.M)


def options_of(command):
    """The options of a command, [(name, argument)], as --help prints them."""
    found = re.findall(r"^  (?:-\w, )?(--[a-z-]+)(?:=(\S+))?", output_of(command, "--help"), re.M)
    return [(name, takes) for name, takes in found if name != "--help"]


Stage = collections.namedtuple("Stage", "parameters variants")


def stage_of(name):
    """Parameters [(name, kind)] and variants {name: [(tunable, values)]} of a stage."""
    section, parameters, variants = None, [], {}
    for line in output_of("inspect", name).splitlines():
        if line and not line.startswith(" "):
            section = line
        elif section == "Parameters" and (match := re.match(r"  (\S+)  (.*)", line)):
            parameters.append(match.groups())
        elif section == "Variants" and (match := re.match(r"  (\S+)  ", line)):
            tunables = variants.setdefault(match[1], [])
        elif section == "Variants" and (match := re.match(r"      (\w+): ([-\d, ]+);", line)):
            tunables.append((match[1], match[2].split(", ")))
    return Stage(parameters, variants)


def nodes_of(path):
    """{node: stage} of a graph in one of the two notations of the pipelines."""
    return dict(re.findall(r"^  (\w+):\s+(?:\{\s*)?stage: ([\w.]+)", path.read_text(), re.M))


class Maker:
    """Makes command lines from a seed and from what the command prints about itself."""

    def __init__(self, folder):
        self.folder = folder
        self.commands = {name: options_of(name) for name in subcommands()}
        self.graphs = {path: nodes_of(path) for path in sorted(PIPELINES.glob("*.yaml"))}
        stages = output_of("inspect").split("\n\n")[0]
        self.stages = {name: stage_of(name) for name in re.findall(r"^(\S+)  ", stages, re.M)}

    def some(self, things):
        return self.random.choice(list(things))

    def often(self, chance):
        return self.random.random() < chance

    def turns_hostile(self):
        """Whether a word shall be hostile. Some command lines have more such words than others,
        because one of them may end the command before it looks at the rest."""
        return self.often(self.hostility)

    def node(self):
        return self.some(HOSTILE) if self.turns_hostile() else self.some(self.nodes)

    def value(self, kind):
        """A value for a parameter that `inspect` describes as `kind`."""
        if self.turns_hostile():
            return self.some(HOSTILE)
        if match := re.match(r"an integer(?: from (-?\d+))?(?: to (-?\d+))?", kind):
            low, high = int(match[1] or -5), int(match[2] or 1 << 40)
            return str(self.some([low, low + 1, low + 2, low + 15, *[high, low - 1, high + 1] *
                                  self.often(4 * self.hostility),
                                  self.random.randint(low, min(high, low + 64))]))
        if match := re.match(r"one of ([^;]*)", kind):
            return self.some(match[1].split(", "))
        return self.some(HOSTILE + ["true", "false", "time", "channel", "[1, 2, 3]", "16", "3.5",
                                    "1 us", "10 MHz", "ci8", "cf32", "f32", "x.npy"])

    def setting(self):
        node = self.node()
        stage = self.stages.get(self.nodes.get(node))
        known = stage.parameters if stage else []
        name, kind = ("", "") if not known or self.turns_hostile() else self.some(known)
        if self.often(0.1):
            name, kind = self.some([("stage", ""), ("from", ""), ("backend", ""), ("variant", ""),
                                    ("block", "")])
        if name in ("stage", "from") and self.often(0.7):
            return f"{node}.{name}={self.some([*self.stages, *self.nodes])}"
        return f"{node}.{name}={self.value(kind)}"

    def variant(self):
        node = self.node()
        stage = self.stages.get(self.nodes.get(node))
        if not stage or not stage.variants or self.turns_hostile():
            return f"{node}={self.some(HOSTILE + ['cpu', 'reference', 'cpu-avx2', 'cuda'])}"
        name, tunables = self.some(stage.variants.items())
        chosen = [f"{tunable}={self.some(HOSTILE if self.turns_hostile() else values)}"
                  for tunable, values in tunables if self.often(0.4)]
        return f"{node}={name}" + (":" + ",".join(chosen) if chosen else "")

    def file(self):
        return self.some(["store.db", "lines.json", "garbage", "missing", "folder", "folder/new",
                          "missing/new", "/dev/null", "/dev/full", "", "-", "off", "new.db"])

    def argument(self, takes):
        """A value for an option whose argument --help names so."""
        if self.turns_hostile():
            return self.some(HOSTILE)
        words = {
            "N": ["1", "2", "3", "8", "64"],
            "TIME": ["1 ms", "100 us", "0.1 s", "1", "1e-9", "1 h"],
            "SIZE": ["1", "64 KiB", "1 MiB", "512 B", "1 GiB", "1e15"],
            "FORM": ["map", "table", "group", "fold", "window", "join", "source", "free", "tree"],
            "FORMAT": ["json", "text", "none", "png", "svg"],
            "FORMAT[:PERIOD]": ["json", "text", "none", "json:1 s", "text:10ms", "json:0", "none:1 s"],
            "unix:PATH|tcp:localhost:PORT": ["unix:control", "tcp:localhost:0", "tcp:0.0.0.0:0", "unix:"],
            "PARAMETER=VALUE": ["pol=[1]", "time=[0 s, 1 ms]", "channel=0", "axis=pol", "x=1"],
            "WIDTHxHEIGHT": ["100x100", "800x600", "0x0", "8192x8192"],
            "X,Y": ["time,channel", "channel", "channel,time", "time,time"],
            "PICTURE": ["a.png", "b.svg", "c.gif", "folder", "/dev/full"],
            "NAME": ["reference", "cpu", "cuda", "auto", "cuda:1", *self.stages],
            "NODE": list(self.nodes) or [""],
            "TYPE": ["ci4", "ci8", "cf32", "f16", "u32", "cf33"],
            "SECONDS": ["0.1", "1", "0", "1e-9"],
            "NUMBER": ["0", "1", "4294967295", "4294967296"],
            "CASE": ["cpu-avx2/0/0", "cpu-baseline/0/7", "reference/0/1", "cuda/0/0", "cpu/9/0"],
            "P": ["0", "0.01", "1", "1.5"],
            "FACTOR": ["1", "1000", "0", "1e9"],
            "LIST": ["0", "0-1", "1,0", "0-", "70000", "", "0,,1"],
            "STAGE": ["lofar.source", "vdif.source", "packet.source", "spead.source", "fir"],
            "udp://ADDRESS:PORT": ["udp://127.0.0.1:9", "udp://[::1]:9", "udp://127.0.0.1", "udp://a:9"],
            "AXIS=LENGTH": ["time=100", "station=3", "pol=2", "phase=16", "beam=0", "tap=1048577"],
        }
        if takes == "PARAM=VALUE":
            name, kind = self.some(self.stages[self.stage].parameters or [("gain", "")])
            return f"{name}={self.value(kind)}"
        if takes == "[NODE.]PARAMETER=VALUE":
            return self.setting()
        if takes.startswith("NODE=NAME"):
            return self.variant()
        if takes == "[NODE=]NAME":
            name = self.some(["auto", "reference", "cpu", "cuda", "cuda:0", "cuda:7", "gpu"])
            return name if self.often(0.4) else f"{self.node()}={name}"
        if takes == "FILE":
            return self.file()
        return self.some(words.get(takes, HOSTILE))

    def make(self, k):
        self.random = random.Random(f"{SEED} {k}")
        self.hostility = self.some([0, 0.02, 0.1, 0.4])
        command = self.some([*self.commands, "plan", "plan", "plan", "run", "run", "check"])
        path = self.some(self.graphs)
        self.nodes = self.graphs[path]
        line = [command]
        takes_graph = ("--set", "[NODE.]PARAMETER=VALUE") in self.commands[command] and command != "send"
        self.stage = self.some(self.stages)
        if takes_graph and not self.often(0.02):
            for setting in SMALL.get(path.stem, []):
                line += ["--set", setting]
        for _ in range(self.some([0, 1, 1, 2, 2, 3, 4, 6, 10])):
            options = self.commands[command]
            if not options:
                break
            name, takes = self.some(options)
            if takes:
                line += [f"{name}={self.argument(takes)}"]
            else:
                line += [name]
        if command == "tune":
            line += ["--budget=0.1 s", "--quick"] + ["--no-comparison"] * self.often(0.8)
        if command == "test-stage":
            line += ["--seconds=0.1", self.some(HOSTILE) if self.turns_hostile() else self.stage]
        if takes_graph:
            line += [self.file() if self.turns_hostile() and self.often(0.3) else str(path)]
        elif command == "inspect":
            line += [self.some([*self.stages, *HOSTILE])] * self.often(0.8)
        elif command == "show":
            line += [self.file()] * self.often(0.9)
        elif command == "send":
            line += ["--to=udp://127.0.0.1:9"] * self.often(0.8) + [self.some([self.file(), str(path)])]
        elif command == "new-stage":
            line += [self.some([*self.stages, *HOSTILE, "mine", "my-stage"])]
        if self.often(0.03):
            line += [self.some(HOSTILE)]
        if self.often(0.03):
            line.insert(1, self.some(["--help", "--nothing", "-z", "-q", "--", "--version"]))
        return line


def limit_memory():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class FuzzCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="cornerturn-fuzz-"))
        cls.maker = Maker(cls.home)
        cls.environment = dict(os.environ, XDG_CACHE_HOME=str(cls.home / "cache"),
                               G_DEBUG="fatal-criticals")
        cls.environment.pop("CORNERTURN_COSTS", None)
        cls.seen = collections.Counter()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.home, ignore_errors=True)
        print("# " + ", ".join(f"{n} {what}" for what, n in sorted(cls.seen.items())), flush=True)

    def furnish(self):
        """Makes a new folder to run in, with the files that options name."""
        folder = self.home / "run"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "folder").mkdir(parents=True)
        (folder / "garbage").write_bytes(bytes(range(256)) * 40)
        (folder / "lines.json").write_text('{"stages": "fir", "variant": 3}\n{"stages"\nx=y z\n')
        if (self.home / "store.db").exists():
            shutil.copy(self.home / "store.db", folder)
        return folder

    def run_line(self, line):
        """Runs a line: exit status, messages, and whether it had to be interrupted."""
        folder = self.furnish()
        arguments = [os.fsencode(word.replace("\0", "")) for word in [COMMAND, *line]]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(arguments, cwd=folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=errors,
                                       env=self.environment, preexec_fn=limit_memory)
            interrupted = False
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                interrupted = True
                process.send_signal(signal.SIGINT)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return None, "", interrupted
            errors.seek(0)
            text = errors.read().decode(errors="replace")
        if line[0] == "tune" and (folder / "store.db").exists():
            shutil.copy(folder / "store.db", self.home)
        return process.returncode, text, interrupted

    def fault(self, line, status, text, interrupted):
        """A description of how the run ended wrongly; None: it ended well."""
        if status is None:
            return f"does not end {GRACE} s after an interrupt"
        if status < 0 and NO_MEMORY.search(text) and not SANITIZED:
            self.seen["out of the memory that a run may have"] += 1
            return None
        if interrupted:
            self.seen["interrupted"] += 1
            if status == -signal.SIGINT:  # before signals are handled, or in a command that never does
                return None
        if status not in (0, 1, 2, 130):
            return f"ends with status {status}"
        if status and not text.strip():
            return f"ends with status {status} without a message"
        match = FORBIDDEN.search("".join(part for part in [text] if part))
        if match and not any(match[0] in word for word in line):
            return f"says '{match[0]}'"
        self.seen[f"status {status}"] += 1
        return None

    def test_lines(self):
        # This makes a cost database with measurements.
        self.maker.random = random.Random(SEED)
        spectrometer = str(PIPELINES / "spectrometer.yaml")
        settings = [word for setting in SMALL["spectrometer"] for word in ("--set", setting)]
        self.run_line(["tune", *settings, "--quick", "--no-comparison", "--budget=1 s", "-q",
                       "--costs=store.db", spectrometer])
        begin = time.monotonic()
        for k in range(N_RUNS):
            line = self.maker.make(k)
            with self.subTest(seed=SEED, run=k):
                status, text, interrupted = self.run_line(line)
                fault = self.fault(line, status, text, interrupted)
                if fault:
                    shown = shlex.join(word[:300] for word in line)
                    self.fail(f"cornerturn {shown}\n{fault}\n{text[-2000:]}")
        self.seen["seconds"] = round(time.monotonic() - begin)

    def test_every_option_is_known(self):
        """The arguments of all options have values here, so that most are nearly valid."""
        takes = {takes for options in self.maker.commands.values() for _, takes in options}
        self.assertLessEqual(takes, {"", "N", "TIME", "SIZE", "FORM", "FORMAT", "FORMAT[:PERIOD]", "NAME",
                                     "NODE", "FILE", "unix:PATH|tcp:localhost:PORT", "PARAMETER=VALUE",
                                     "WIDTHxHEIGHT", "X,Y", "PICTURE",
                                     "[NODE=]NAME",
                                     "NODE=NAME[:TUNABLE=VALUE,…]", "TYPE", "SECONDS", "NUMBER",
                                     "CASE", "AXIS=LENGTH", "PARAM=VALUE", "P", "FACTOR", "STAGE", "LIST",
                                     "udp://ADDRESS:PORT", "[NODE.]PARAMETER=VALUE"})
        self.assertIn("--set", dict(self.maker.commands["plan"]))
        self.assertIn("fir", self.maker.stages)
        self.assertTrue(self.maker.stages["fir"].variants["cpu-baseline"])
        self.assertTrue(all(self.maker.graphs.values()))


if __name__ == "__main__":
    tap.main()
