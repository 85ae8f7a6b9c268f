# SPDX-License-Identifier: BSD-3-Clause
"""Functions that all parts of the adversary use. A part makes runs from seeds and gives a verdict
on each.

A part is a program that calls `main` with a function of a seed and an empty folder. The function
returns if all is well; it raises Finding if something is wrong, and Refused if the graph asks for
something impossible. The part prints one line for each run, `SEED VERDICT`, followed by the finding
as JSON."""
import argparse
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

COMMAND = os.environ["CORNERTURN"]
VERDICTS = ("ok", "refused", "wrong", "crash", "hang")
# A command for some thousand samples that has not ended after these seconds hangs.
MOST_SECONDS = 60


class Finding(Exception):
    """A finding: its verdict, "wrong", "crash" or "hang", and a description with the command that
    shows it."""

    def __init__(self, verdict, message):
        super().__init__(message)
        self.verdict, self.message = verdict, message


class Refused(Exception):
    """The graph asks for something impossible, and is refused, as it should be."""


def command(arguments, folder, seconds=MOST_SECONDS, **environment):
    """Runs the command: exit status, output, errors. A signal counts as a crash."""
    try:
        done = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True,
                              timeout=seconds, env={**os.environ, **environment}, check=False)
    except subprocess.TimeoutExpired as error:
        raise Finding("hang", f"cornerturn {' '.join(arguments)}: no end within {seconds} s") \
            from error
    output, errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    sanitizer = "Sanitizer" in errors or "runtime error:" in errors
    if done.returncode < 0 or sanitizer:
        raise Finding("crash", f"cornerturn {' '.join(arguments)}: "
                      f"signal {-done.returncode}\n{errors[-3000:]}")
    return done.returncode, output, errors


def at_exit(folder):
    """Removes a folder at exit."""
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def keep(folder, seed):
    """Copies the files of a finding to a folder that stays; returns that folder."""
    root = pathlib.Path(os.environ.get("CORNERTURN_FINDINGS", tempfile.gettempdir()))
    root.mkdir(parents=True, exist_ok=True)
    kept = pathlib.Path(tempfile.mkdtemp(prefix=f"adversary-{seed}-", dir=root))
    shutil.copytree(folder, kept, dirs_exist_ok=True, symlinks=True)
    return kept


def run(one, seed):
    """The verdict of one seed, and the finding."""
    with tempfile.TemporaryDirectory(prefix="adversary-") as name:
        folder = pathlib.Path(name)
        try:
            one(seed, folder)
        except Refused as refused:
            return "refused", str(refused)
        except Finding as finding:
            return finding.verdict, f"{finding.message}\nkept in {keep(folder, seed)}"
        except Exception:  # pylint: disable=broad-except
            return "wrong", f"{traceback.format_exc()}\nkept in {keep(folder, seed)}"
    return "ok", ""


def main(one):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--step", type=int, default=1, help="from a seed to the next")
    options = parser.parse_args()
    for k in range(options.runs):
        seed = options.seed + k * options.step
        print(seed, end=" ", flush=True)
        verdict, message = run(one, seed)
        print(verdict, json.dumps(message), flush=True)
    sys.stdout.close()
