# SPDX-License-Identifier: BSD-3-Clause
"""What the parts of the adversary share: a part makes runs from seeds and says what each came to.

A part is a program that calls `main` with a function of a seed and an empty folder, which returns
where all is well and raises Finding where not; Refused, where the graph asks for what there is not.
It prints a line a run, `SEED VERDICT`, with the finding behind it as JSON."""
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
# Seconds after which a command that has some thousand samples to go through stands still.
MOST_SECONDS = 60


class Finding(Exception):
    """What went wrong: "wrong", "crash" or "hang", in words, and the command that shows it."""

    def __init__(self, verdict, message):
        super().__init__(message)
        self.verdict, self.message = verdict, message


class Refused(Exception):
    """What was asked for is an error, as it should be."""


def command(arguments, folder, seconds=MOST_SECONDS, **environment):
    """Runs the command: exit status, output, errors. A signal is a crash."""
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
    """Removes a folder in the end."""
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def keep(folder, seed):
    """Moves what shows a finding to where it stays, and says where."""
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
