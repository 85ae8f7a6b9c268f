#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Completion of the command by bash and zsh: what they offer is what the command knows."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

COMMAND = pathlib.Path(os.environ["CORNERTURN"])
COMPLETION = COMMAND.parent.parent / "completion"
GRAPH = """\
# A graph.
backend: cpu
stages:
  sky: { stage: generate, type: ci8, sample_rate: 1 MHz, samples: 64, layout: "[time]" }
  filter:
    # stage: fft
    stage: fir
    from: sky
    n_channels: 4
  end: {stage: discard, from: filter}
start: 0
"""
# What bash would be given; `compopt` wants a completion in progress.
BASH = """
source "$1"
compopt() { :; }
complete -p cornerturn >/dev/null || exit
COMP_LINE=$2 COMP_POINT=${#2}
_cornerturn
printf '%s\\n' "${COMPREPLY[@]}"
"""
# What zsh would be given, before it looks at the beginning of the word.
ZSH = """
words=(${(s: :)2}) PREFIX=$words[-1]
[[ $2 != *' ' ]] || words+=('') PREFIX=''
CURRENT=$#words
compset() { : }
_files() { print -r -- "files $*" }
_describe() { print -rl -- ${(P)2} ${(P)6} | cut -d : -f 1 }
source "$1"
"""


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True,
                          env={**os.environ, "CORNERTURN_CUDA": "off"}).stdout


def names(text, begin=""):
    """The first words of the lines of a table that is indented, or of all lines."""
    return re.findall(rf"^{begin}(\w[\w.-]*)", text, re.M)


def table(stage, title):
    return names(run("inspect", stage).partition(f"\n{title}\n")[2].partition("\n\n")[0], "  ")


COMMANDS = names(run("--help").split("Commands:")[1].split("Options:")[0], "  ")
STAGES = names(run("inspect").split("\n\n")[0])


class Shell(unittest.TestCase):
    """Cases of one shell: `offered` gives what it offers for a line."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "graph.yaml").write_text(GRAPH, encoding="utf-8")
        (cls.folder / "other.yml").write_text("stages: [", encoding="utf-8")
        (cls.folder / "bytes.yaml").write_bytes(bytes(range(256)) * 9)
        (cls.folder / "capture").write_bytes(b"")
        (cls.folder / "graphs").mkdir()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def shell(self, *words):
        path = f"{COMMAND.parent}:{os.environ['PATH']}"
        ran = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path})
        self.assertEqual(ran.stderr, "")
        return [line for line in ran.stdout.splitlines() if line]

    def check(self, line, wanted):
        with self.subTest(line):
            self.assertEqual(sorted(self.offered(f"cornerturn {line}")), sorted(wanted))


class Offers:
    def test_commands(self):
        self.check("", [*COMMANDS, "--help", "--version"])
        self.check("ver", ["verify"])
        self.check("--v", ["--version"])
        self.check("xyzzy ", [])
        self.check("xyzzy --", [])

    def test_every_option_of_every_command(self):
        for command in COMMANDS:
            options = re.findall(r"^  (?:-\w, )?(--[a-z-]+=?)", run(command, "--help"), re.M)
            self.assertIn("--help", options)
            self.check(f"{command} --", options)
            self.check(f"{command} -", options)

    def test_stages(self):
        for line in "inspect ", "test-stage ", "costs --stage=", "costs --stage ", "send --stage=":
            self.check(line, STAGES)
        self.check("inspect fi", [stage for stage in STAGES if stage.startswith("fi")])

    def test_choices(self):
        for line, wanted in {
            "run --stats=": "text json none",
            "send x --stats ": "text json none",
            "new-stage --form=": "map table group fold window join source free",
            "bench ": "ceilings stages pipelines all published",
            "bench pu": "published",
            "run --backend=": "auto reference cpu cuda",
        }.items():
            self.check(line, wanted.split())
        for line in "new-stage ", "run --workers=", "run --workers ", "send --rate=", "costs ":
            self.check(line, [])

    def test_nodes(self):
        nodes = ["sky", "filter", "end"]
        self.check("verify graph.yaml --node=", nodes)
        for option in "--set ", "--set=":
            self.check(f"plan graph.yaml {option}", [f"{node}." for node in nodes])
            self.check(f"plan graph.yaml {option}filter.",
                       [f"filter.{name}=" for name in table("fir", "Parameters")])
            self.check(f"plan graph.yaml {option}filter.n_taps=", [])
            self.check(f"plan graph.yaml {option}none.", [])
        self.check("plan graph.yaml --variant=", [f"{node}=" for node in nodes])
        self.check("plan graph.yaml --backend ", ["auto", "reference", "cpu", "cuda",
                                                  *(f"{node}=" for node in nodes)])
        for line in "plan --set ", "plan other.yml --set ", "plan bytes.yaml --set ", "plan no.yaml --set ":
            self.check(line, [])


class Bash(Shell, Offers):
    def offered(self, line):
        return self.shell("bash", "--norc", "-c", BASH, "bash", COMPLETION / "cornerturn", line)

    def test_words_that_bash_parts(self):
        """Of a word with `=`, bash replaces what is behind the last one."""
        self.check("plan graph.yaml --set=filter.n_t", ["filter.n_taps="])
        self.check("plan graph.yaml --backend=filter=c", ["cpu", "cuda"])
        self.check("plan graph.yaml --variant filter=", table("fir", "Variants"))

    def test_files(self):
        graphs = ["bytes.yaml", "graph.yaml", "graphs", "other.yml"]
        for command in "run", "check", "plan", "tune", "verify":
            self.check(f"{command} ", graphs)
        self.check("run graph", ["graph.yaml", "graphs"])
        for line in "send ", "costs --import=", "costs --export ", "plan --costs=":
            self.check(line, [*graphs, "capture"])

    def test_bash_finds_it(self):
        library = pathlib.Path("/usr/share/bash-completion/bash_completion")
        if not library.exists():
            self.skipTest("bash-completion is not installed")
        (self.folder / "graphs" / "completions").symlink_to(COMPLETION)
        self.assertEqual(self.shell(
            "bash", "--norc", "-c", 'source "$0"; BASH_COMPLETION_USER_DIR=graphs _completion_loader '
            "cornerturn; complete -p cornerturn", library), ["complete -F _cornerturn cornerturn"])


@unittest.skipIf(shutil.which("zsh") is None, "zsh is not installed")
class Zsh(Shell, Offers):
    def offered(self, line):
        word = re.sub("^--[a-z-]*=", "", line.split(" ")[-1])
        found = self.shell("zsh", "-f", "-c", ZSH, "zsh", COMPLETION / "_cornerturn", line)
        return [each for each in found if each.startswith(word)]

    def test_values_of_a_node(self):
        self.check("plan graph.yaml --set=filter.n_t", ["filter.n_taps="])
        self.check("plan graph.yaml --backend=filter=c", ["filter=cpu", "filter=cuda"])
        self.check("plan graph.yaml --variant filter=",
                   [f"filter={name}" for name in table("fir", "Variants")])

    def test_files(self):
        for line in "run ", "verify ":
            self.check(line, ["files -g *.y(a|)ml"])
        for line in "send ", "costs --import=", "plan --costs ":
            self.check(line, ["files "])

    def test_zsh_finds_it(self):
        self.assertEqual(self.shell(
            "zsh", "-f", "-c", "fpath=($1 $fpath); autoload -U compinit; compinit -u -D; "
            "print $_comps[cornerturn]", "zsh", COMPLETION), ["_cornerturn"])


if __name__ == "__main__":
    tap.main()
