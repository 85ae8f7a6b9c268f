#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn bench`: the figures of this machine are whole, and those of two machines are compared."""
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import tap

COMMAND = os.environ["CORNERTURN"]
IS_EMULATED = "emulator" in os.environ.get("CORNERTURN_CUDA", "")
if not IS_EMULATED:
    os.environ["CORNERTURN_CUDA"] = "off"
CASE_KEYS = ["group", "family", "name", "place", "workers", "variants", "samples_per_second",
             "operations_per_second", "bytes_per_second", "multiply_adds_per_second",
             "copied_bytes_per_second", "share_of_multiply_adds", "share_of_copies",
             "joules_per_operation", "samples_per_second_of_station", "published", "source", "skipped"]


def run(*arguments):
    return subprocess.run([COMMAND, "bench", *arguments], capture_output=True, text=True, check=False)


def case(family, name, samples, place="host", group="stages", **others):
    """A case of made figures."""
    return dict.fromkeys(CASE_KEYS) | {
        "group": group, "family": family, "name": name, "place": place,
        "workers": 2 if place == "host" else 0, "variants": "cpu", "samples_per_second": samples,
        "operations_per_second": 4 * samples, "bytes_per_second": 2 * samples,
        "multiply_adds_per_second": 1e11, "copied_bytes_per_second": 2e10,
        "share_of_multiply_adds": 4 * samples / 1e11, "share_of_copies": 2 * samples / 2e10} | others


def figures(cases, ceilings=(), **others):
    """Made figures of a machine."""
    return {"form": 1, "version": "0", "machine": "made", "workers": 2, "energy": None, "state": "complete",
            "devices": [], "ceilings": list(ceilings), "cases": list(cases)} | others


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, made):
        path = self.folder / name
        path.write_text(made if isinstance(made, str) else json.dumps(made), encoding="utf-8")
        return str(path)


class Measured(Folder):
    """Short runs of all forms."""

    def check_case(self, one):
        self.assertEqual(list(one), CASE_KEYS)
        self.assertIsNone(one["skipped"], one)
        for key in CASE_KEYS[6:11]:
            self.assertTrue(math.isfinite(one[key]) and one[key] >= 0, (key, one))
        self.assertGreater(one["samples_per_second"], 0)
        self.assertGreater(one["share_of_copies"], 0)

    def test_cases(self):
        places = ["host", "cuda:0"] if IS_EMULATED else ["host"]
        done = run("--quiet", "--seconds", "0.005", "--json", "stages", "gains", "convert ci4")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        made = json.loads(done.stdout)
        self.assertEqual((made["form"], made["state"], made["ceilings"]), (1, "complete", []))
        self.assertEqual(len(made["devices"]), len(places) - 1)
        self.assertEqual([(one["name"], one["place"]) for one in made["cases"]],
                         [(name, place) for name in ("gains", "convert ci4 to ci8") for place in places])
        for one in made["cases"]:
            self.check_case(one)

    @unittest.skipIf(IS_EMULATED, "once is enough")
    def test_files(self):
        log, picture = self.folder / "log.json", self.folder / "picture.svg"
        done = run("--seconds", "0.005", "--workers", "1", "--log", str(log), "--picture", str(picture), "power")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^1 of \d+: power\n")
        self.assertRegex(done.stdout, r"(?m)^power IQUV +host ")
        self.assertIn("1 worker", done.stdout)
        for one in json.loads(log.read_text(encoding="utf-8"))["cases"]:
            self.check_case(one)
        root = xml.etree.ElementTree.parse(picture).getroot()
        self.assertEqual(len(root.findall("{*}circle")), 2)
        again = run("--read", str(log))
        self.assertEqual((again.returncode, again.stdout), (0, done.stdout))
        same = run("--read", str(log), "--json")
        self.assertEqual(json.loads(same.stdout), json.loads(log.read_text(encoding="utf-8")))

    def test_ceilings(self):
        done = run("--quiet", "--json", "ceilings")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        made = json.loads(done.stdout)
        self.assertEqual(made["cases"], [])
        names = {(one["place"], one["name"]) for one in made["ceilings"]}
        self.assertLessEqual({("host", "multiply-adds baseline"), ("host", "copies in L2"),
                              ("host", "copies in memory")}, names)
        if IS_EMULATED:
            self.assertIn(("cuda:0", "transfers from the host"), names)
        for one in made["ceilings"]:
            self.assertGreater(one["rate"], 0, one)
            self.assertEqual(one["unit"], "operations/s" if "adds" in one["name"] else "bytes/s")

    def test_published(self):
        """A case with transfers runs on devices only."""
        name = "filter ci8 1024x4"
        done = run("--quiet", "--seconds", "0.005", "--json", "published", name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        wanted = [("", "host", "quad-core x86")]
        if IS_EMULATED:
            wanted += [("", "cuda:0", "500 of 1345 GFLOP/s (37%)"), (", with transfers", "cuda:0", "a tenth")]
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual(len(cases), len(wanted))
        for one, (suffix, place, figure) in zip(cases, wanted):
            self.check_case(one)
            self.assertEqual((one["group"], one["name"], one["place"], one["source"]),
                             ("published", f"{name}, 16 stations{suffix}", place, "van der Veldt 2011"))
            self.assertIn(figure, one["published"])
            self.assertEqual(one["variants"].count("copy"), 2 if suffix else 0)

    @unittest.skipIf(IS_EMULATED, "once is enough")
    def test_layouts(self):
        done = run("--quiet", "--seconds", "0.005", "published", "lofar-1", "stations, inserted", "capacity of fx-correlator, 16")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^lofar-1, default layouts .*\+ transpose")
        self.assertRegex(done.stdout, r"(?m)^lofar-1, tuned layouts .* Kis 2013: tuned 20% faster")
        rows = dict(re.findall(r"(?m)^(\S.*?) {2,}host +(\S+ .)", done.stdout))
        self.assertEqual(len(rows), 4, done.stdout)
        self.assertNotIn("skipped", done.stdout)

    @unittest.skipIf(IS_EMULATED, "once is enough")
    def test_pipeline(self):
        done = run("--quiet", "--seconds", "0.005", "--json", "pipelines", "lofar-station")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.check_case(json.loads(done.stdout)["cases"][0])

    @unittest.skipIf(IS_EMULATED, "once is enough")
    def test_interrupt(self):
        with subprocess.Popen([COMMAND, "bench", "--seconds", "60", "gains", "power"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stderr.readline(), "1 of 3: gains\n")
            process.send_signal(signal.SIGINT)
            printed, errors = process.communicate(timeout=120)
        self.assertEqual((process.returncode, errors), (130, "ended early by SIGINT\n"))
        self.assertIn("ended early", printed)
        self.assertNotIn("\npower", printed)


@unittest.skipIf(IS_EMULATED, "no device matters")
class Compared(Folder):
    """Made figures: ratios, medians and what they say."""

    def compare(self, these, those):
        done = run("--read", self.write("this.json", these), "--compare", self.write("other.json", those))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_families(self):
        these = figures([case("correlators", "a", 8e9), case("correlators", "b", 2e9),
                         case("correlators", "c", 3e9), case("filters", "d", 1e9), case("transforms", "e", 5e9)])
        those = figures([case("correlators", "a", 1e9, multiply_adds_per_second=5e10),
                         case("correlators", "b", 1e9, multiply_adds_per_second=5e10),
                         case("correlators", "c", 1e9, multiply_adds_per_second=5e10),
                         case("filters", "d", 2e9, copied_bytes_per_second=6e10), case("transforms", "e", 5e9)])
        text = self.compare(these, those)
        self.assertRegex(text, r"(?m)^a +host +8\.00 G +1\.00 G +8\.00 ")
        self.assertRegex(text, r"(?m)^d +host +1\.00 G +2\.00 G +0\.50 ")
        self.assertEqual(text.splitlines()[-3:], [
            "This machine is faster: correlators 3.00 times (multiply-adds 2.00, copies 1.00).",
            "The other machine is faster: filters 2.00 times (multiply-adds 1.00, copies 3.00).",
            "Both are as fast, within 3 %: transforms."])

    def test_places(self):
        """Each machine counts at its fastest place; rows are compared place by place."""
        these = figures([case("filters", "a", 1e9), case("filters", "a", 1e11, place="cuda:0")], devices=["device"])
        text = self.compare(these, figures([case("filters", "a", 2e9)]))
        self.assertRegex(text, r"(?m)^a +host +1\.00 G +2\.00 G +0\.50 ")
        self.assertRegex(text, r"(?m)^a +cuda:0 +100 G +400 G ")
        self.assertIn("This machine is faster: filters 50.00 times", text)

    def test_skipped(self):
        """A case that one machine has skipped counts for nobody."""
        none = {key: None for key in CASE_KEYS[6:14]}
        these = figures([case("filters", "a", 1e9), case("filters", "b", 1, **none, skipped="too large")])
        text = self.compare(these, figures([case("filters", "a", 1e9), case("filters", "b", 1e9)]))
        self.assertIn("skipped: too large", text)
        self.assertIn("Both are as fast, within 3 %: filters.\n", text)

    def test_ceilings(self):
        def ceiling(rate, workers):
            return {"place": "host", "workers": workers, "name": "copies in memory", "rate": rate, "unit": "bytes/s"}
        text = self.compare(figures([], [ceiling(3e10, 1), ceiling(8e10, 64)]),
                            figures([], [ceiling(1e10, 1), ceiling(2e10, 2)]))
        self.assertRegex(text, r"copies in memory +host +1 +30\.0 G +bytes +10\.0 G +3\.00\n")
        self.assertRegex(text, r"copies in memory +host +64 +80\.0 G +bytes +20\.0 G +4\.00\n")
        self.assertTrue(text.endswith("The machines have no case in common.\n"))

    def test_picture(self):
        """Points lie below their roof where their shares say so."""
        made = figures([case("filters", "a < b", 1e9)],
                       [{"place": "host", "workers": 2, "name": "multiply-adds avx2", "rate": 1e11, "unit": ""},
                        {"place": "host", "workers": 2, "name": "copies in memory", "rate": 2e10, "unit": ""}])
        picture = self.folder / "picture.svg"
        self.assertEqual(run("--read", self.write("this.json", made), "--picture", str(picture)).returncode, 0)
        root = xml.etree.ElementTree.parse(picture).getroot()
        point = root.find("{*}circle")
        roofs = [line for line in root.findall("{*}line") if line.get("stroke-width") == "2"]
        self.assertEqual(len(roofs), 2)
        (rise, flat) = roofs
        # 2 operations a byte are on the rising part, 10 times as high: a power of ten of the frame.
        share = (float(point.get("cx")) - float(rise.get("x1"))) / (float(rise.get("x2")) - float(rise.get("x1")))
        roof = float(rise.get("y1")) + share * (float(rise.get("y2")) - float(rise.get("y1")))
        power = (560 - 50) / 3
        self.assertAlmostEqual(float(point.get("cy")) - roof, power, delta=1)
        self.assertEqual(flat.get("y1"), flat.get("y2"))
        self.assertTrue(any("a < b" in (text.text or "") for text in root.findall("{*}text")))


@unittest.skipIf(IS_EMULATED, "no device matters")
class Refused(Folder):
    """Every error message once."""

    def refuse(self, arguments, status, message):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), arguments)
        self.assertRegex(done.stderr, message)

    def test_options(self):
        for arguments, message in (
                (["--seconds", "-1"], "--seconds wants a number of seconds, more than 0"),
                (["--quick", "--seconds", "1"], "one of --quick and --seconds"),
                (["--workers", "0"], "--workers wants a number from 1 to 4096"),
                (["--read", "x", "gains"], "--read measures nothing")):
            with self.subTest(arguments):
                self.refuse(arguments, 2, "cornerturn bench: .*" + message)

    def test_names(self):
        self.refuse(["gains", "nonsense"], 1, "^no case of 'all' has 'nonsense' in its name")
        self.refuse(["pipelines", "gains"], 1, "^no case of 'pipelines' has 'gains' in its name")

    def test_files(self):
        good = figures([case("filters", "a", 1e9)])
        for made, message in (
                ("{", "is not JSON: "),
                ("[]", "wants what `cornerturn bench --json` prints, with the form 1"),
                ({"form": 2}, "wants what `cornerturn bench --json` prints, with the form 1"),
                (good | {"workers": "two"}, "'workers' wants a whole number"),
                (good | {"devices": None}, "'devices' wants a list"),
                (good | {"devices": [1]}, r"devices\[0\]: wants a text"),
                ({key: value for key, value in good.items() if key != "cases"}, "'cases' wants a list, but is not there"),
                (figures([1]), r"cases\[0\]: wants an object"),
                (figures([case("filters", "a", 1, samples_per_second="many")]), r"cases\[0\]: 'samples_per_second' wants a number"),
                (figures([case("filters", None, 1)]), r"cases\[0\]: wants a group, a family, a name and a place"),
                (figures([case("filters", 1, 1)]), r"cases\[0\]: 'name' wants a text"),
                (figures([], [{"place": "host", "workers": 1, "name": None, "rate": 1, "unit": "x"}]),
                 r"ceilings\[0\]: wants a place, a name and a unit")):
            with self.subTest(message):
                path = self.write("made.json", made)
                self.refuse(["--read", path], 1, f"^{re.escape(path)}: {message}")
                self.refuse(["--compare", path, "gains"], 1, f"^{re.escape(path)}: {message}")
        self.refuse(["--read", str(self.folder / "none.json")], 1, "none.json")


if __name__ == "__main__":
    tap.main()
