# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program of a test of a build by hand."""
import json
import os
import pathlib
import subprocess
import sys


def run(name):
    """Runs the Python program of a test with the arguments of the command line, of which the first
    may be `--build FOLDER`, and in the environment of the test."""
    arguments = sys.argv[1:]
    build = "build"
    if arguments[:1] == ["--build"]:
        build, arguments = arguments[1], arguments[2:]
    text = subprocess.run(["meson", "introspect", "--tests", build], check=True,
                          capture_output=True, text=True).stdout
    test = next((each for each in json.loads(text) if each["name"] == name), None)
    if test is None:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {build} is built without tests")
    program = test["cmd"][:2]
    libraries = [test["env"].get("LD_LIBRARY_PATH"), os.environ.get("LD_LIBRARY_PATH")]
    os.environ.update(test["env"])
    os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))
    print(f"# {build}, {pathlib.Path(program[1]).parent}", flush=True)
    os.execv(program[0], [*program, *arguments])
