#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn bench`: the figures of this machine are whole, and those of two machines are compared."""
import json
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
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
             "copied_bytes_per_second", "transferred_bytes_per_second", "share_of_multiply_adds",
             "share_of_copies", "share_of_transfers", "joules_per_operation", "samples_per_second_of_station",
             "planning_seconds", "allocation_seconds", "whole_samples", "measured_samples", "whole_seconds",
             "share_of_waiting",
             "beside", "gain", "published", "source", "skipped"]
TRANSFER_KEYS = ["transferred_bytes_per_second", "share_of_transfers"]
WHOLE_KEYS = ["whole_samples", "measured_samples", "whole_seconds"]
# Finite numbers of every case that has run.
KNOWN_KEYS = ["samples_per_second", "operations_per_second", "bytes_per_second", "multiply_adds_per_second",
              "copied_bytes_per_second", "planning_seconds", "allocation_seconds", "share_of_waiting"]


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
        for key in KNOWN_KEYS:
            self.assertTrue(math.isfinite(one[key]) and one[key] >= 0, (key, one))
        for key in "samples_per_second", "planning_seconds", "allocation_seconds":
            self.assertGreater(one[key], 0)
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

    @unittest.skipIf(IS_EMULATED, "once is enough")
    @unittest.skipUnless(os.path.exists("/proc/self/schedstat"), "the kernel does not count how long threads wait")
    def test_other_program(self):
        """A program on the same processor is told: threads wait for about half of the time."""
        processor = {min(os.sched_getaffinity(0))}
        log = self.folder / "log.json"
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                 preexec_fn=lambda: os.sched_setaffinity(0, processor))
        try:
            done = subprocess.run([COMMAND, "bench", "--quiet", "--quick", "--log", str(log), "stages", "gains"],
                                  preexec_fn=lambda: os.sched_setaffinity(0, processor),
                                  capture_output=True, text=True, check=False)
        finally:
            other.kill()
            other.wait()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        one, = json.loads(log.read_text(encoding="utf-8"))["cases"]
        self.assertTrue(0.1 < one["share_of_waiting"] < 1, one)
        share = round(100 * one["share_of_waiting"])
        self.assertRegex(done.stdout, r"(?m)^machine: other programs ran: threads waited for a processor for up to "
                         rf"{share}% of the time \('gains'\)$")

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
        """A case with transfers runs on devices only. Without a device its row says why there is none."""
        name = "filter ci8 1024x4"
        suffix = ", 16 stations"
        done = run("--quiet", "--seconds", "0.005", "--json", "published", name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        wanted = [("filters", suffix, "host", "quad-core x86"), ("filters", suffix, "cuda:0", "500 of 1345 GFLOP/s (37%)"),
                  ("filters with transfers", suffix + ", with transfers", "cuda:0", "a tenth")]
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual(len(cases), len(wanted))
        for one, (family, suffix, place, figure) in zip(cases, wanted):
            is_moved = "transfers" in suffix
            self.assertEqual((one["group"], one["family"], one["name"], one["place"], one["source"]),
                             ("published", family, name + suffix, place, "van der Veldt 2011"))
            self.assertIn(figure, one["published"])
            if place == "host" or IS_EMULATED:
                self.check_case(one)
                self.assertEqual(one["variants"].count("copy"), 2 if is_moved else 0)
                self.assertEqual([one[key] is not None and one[key] > 0 for key in TRANSFER_KEYS], [is_moved] * 2)
            else:
                self.assertEqual((one["skipped"], one["samples_per_second"]),
                                 ("no device: CORNERTURN_CUDA=off forbids it", None))

    def test_ways(self):
        """A transform by a library, and the project's own beside it."""
        done = run("--quiet", "--seconds", "0.005", "--json", "published", "transform 16 points, batch of 32")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        cases = [one for one in json.loads(done.stdout)["cases"] if not one["skipped"]]
        pairs = [("host", "FFTW")] + ([("cuda:0", "cuFFT")] if IS_EMULATED else [])
        for place, library in pairs:
            of_library, own = [one for one in cases if one["place"] == place]
            for one, way in (of_library, library), (own, "own"):
                self.check_case(one)
                self.assertEqual(one["name"], f"transform 16 points, batch of 32, {way}")
            self.assertEqual((of_library["beside"], of_library["gain"]), (None, None))
            self.assertEqual(own["beside"], of_library["name"])
            self.assertAlmostEqual(own["gain"], own["samples_per_second"] / of_library["samples_per_second"])
            if place == "host":  # other variants have transforms of their own
                self.assertEqual(of_library["variants"].partition(":")[0], "cpu-baseline")
            else:
                self.assertEqual([one["variants"].partition(":")[0] for one in (of_library, own)], ["cuda", "radix-cuda"])

    @unittest.skipIf(IS_EMULATED, "once is enough")
    def test_wholes(self):
        """Whole sums and runs, or a part of one that takes too long."""
        log = self.folder / "log.json"
        done = run("--quiet", "--seconds", "0.005", "--log", str(log), "published", "ci8 32 stations, 128 ",
                   "ci8 32 stations, 1000000", "64x16, 2^27")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        sum_, long_, bank = [one for one in json.loads(log.read_text(encoding="utf-8"))["cases"] if not one["skipped"]]
        for one, whole, width in (sum_, 128, 8 * 32 * 2), (long_, 1000000, 8 * 32 * 2), (bank, 1 << 27, 1):
            self.check_case(one)
            self.assertEqual(one["whole_samples"], whole)
            self.assertAlmostEqual(one["whole_seconds"] * one["samples_per_second"] / width / whole, 1, places=6)
        self.assertGreaterEqual(sum_["measured_samples"], 0.9 * 128)
        self.assertLess(long_["measured_samples"], 1000000)
        self.assertRegex(done.stdout, r"(?m)^correlator ci8 32 stations, 128 spectra +host .* \d+ x 128 ")
        self.assertRegex(done.stdout, r"(?m)^correlator ci8 32 stations, 1000000 spectra +host .* of 1\.00 M ")
        self.assertRegex(done.stdout, r"(?m)^published banks +place .* one takes +planning +allocation ")
        self.assertRegex(done.stdout, r"(?m)^published banks on a device: 1 case skipped: no device: ")

    @unittest.skipIf(IS_EMULATED, "the number is that of a host")
    def test_all_that_is_published(self):
        """Filters 15, transforms 28, correlators 56, capacity 5, layouts 6, banks 8."""
        with subprocess.Popen([COMMAND, "bench", "--seconds", "1e-6", "published"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stderr.readline(), "1 of 118: filter ci4 64x64, 16 stations\n")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)

    @unittest.skipIf(IS_EMULATED, "once is enough")
    def test_layouts(self):
        done = run("--quiet", "--seconds", "0.005", "published", "lofar-1", "stations, inserted", "capacity of fx-correlator, 16")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^lofar-1, 64 stations, default layouts .*\+ transpose")
        self.assertRegex(done.stdout, r"(?m)^lofar-1, 64 stations, tuned layouts .* [\d.]+ x default layouts +Kis 2013: tuned 20% faster")
        rows = dict(re.findall(r"(?m)^(\S.*?) {2,}host +(\S+ .)", done.stdout))
        self.assertEqual(len(rows), 4, done.stdout)
        self.assertEqual(re.findall(r"(?m)^published (\w+) on a device: (\d) cases? skipped: ", done.stdout),
                         [("capacity", "1"), ("layouts", "3")])

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
        arithmetic, memory = {"share_of_multiply_adds": 0.8, "share_of_copies": 0.1}, {"share_of_copies": 0.4}
        these = figures([case("correlators", "a", 8e9, **arithmetic), case("correlators", "b", 2e9, **arithmetic),
                         case("correlators", "c", 3e9, **arithmetic), case("filters", "d", 1e9, **memory),
                         case("transforms", "e", 5e8)])
        half = arithmetic | {"multiply_adds_per_second": 5e10}
        those = figures([case("correlators", "a", 1e9, **half), case("correlators", "b", 1e9, **half),
                         case("correlators", "c", 1e9, **half), case("transforms", "e", 5e8),
                         case("filters", "d", 2e9, **memory | {"copied_bytes_per_second": 6e10})])
        text = self.compare(these, those)
        self.assertRegex(text, r"(?m)^a +host +8\.00 G +1\.00 G +8\.00 ")
        self.assertRegex(text, r"(?m)^d +host +1\.00 G +2\.00 G +0\.50 ")
        self.assertEqual(text.splitlines()[-4:], [
            "correlators, 3 cases: this machine is 3.00 times as fast (single cases: 2.00 to 8.00). They are bound by arithmetic: 80% of "
            "multiply-adds here, 80% there, and this machine has 2.00 times the rate of multiply-adds.",
            "filters, 1 case: the other machine is 2.00 times as fast. The nearest ceiling is memory: 40% of copies "
            "here, 40% there, and the other machine has 3.00 times the rate of copies.",
            "transforms, 1 case: both are as fast, within 3%. No ceiling is near, the nearest is memory: 5% of copies "
            "here, 5% there, and both have the same rate of copies.",
            "All together, 5 cases: this machine is 2.00 times as fast (single cases: 0.50 to 8.00). This machine is faster in 3, the other one in "
            "1; in 1 both are as fast. The nearest ceiling is arithmetic in 3, memory in 2."])

    def test_range(self):
        """The range of single cases is oriented like the verdict. Cases that are alike have none."""
        def made(*rates):
            return figures([case("filters", str(i), 1e9 * rate) for i, rate in enumerate(rates)])
        for these, words in (
                ((0.5, 0.4, 1), "the other machine is 2.00 times as fast (single cases: 1.00 to 2.50)."),
                ((1, 0.5, 2), "both are as fast, within 3% (single cases: 0.50 to 2.00)."),
                ((1, 0.99), "both are as fast, within 3%.")):
            text = self.compare(made(*these), made(*[1] * len(these)))
            self.assertIn(f"filters, {len(these)} cases: {words} ", text)

    def test_places(self):
        """Each machine counts at its fastest place; rows are compared place by place."""
        these = figures([case("filters", "a", 1e9), case("filters", "a", 1e11, place="cuda:0")], devices=["device"])
        text = self.compare(these, figures([case("filters", "a", 2e9)]))
        self.assertRegex(text, r"(?m)^a +host +1\.00 G +2\.00 G +0\.50 ")
        self.assertRegex(text, r"(?m)^a +cuda:0 +100 G +400 G ")
        self.assertIn("filters, 1 case: this machine is 50.0 times as fast.", text)

    def test_reasons(self):
        """What binds, and who has more of it; of cases that no ceiling explains, other variants."""
        def made(fma, share, **others):
            return case("filters", "a, 64 stations", 1e9, multiply_adds_per_second=fma, share_of_multiply_adds=share,
                        share_of_copies=0.1, **others)
        for these, those, words in (
                (made(4e11, 0.8), made(1e11, 0.8) | {"samples_per_second": 2.5e8},
                 "this machine is 4.00 times as fast. It is bound by arithmetic: 80% of multiply-adds here, 80% "
                 "there, and this machine has 4.00 times the rate of multiply-adds."),
                (made(1e11, 3, variants="cpu-amx"), made(1e11, 1) | {"samples_per_second": 3.3e8},
                 "this machine is 3.03 times as fast. It is bound by arithmetic: 300% of multiply-adds here, 100% "
                 "there, and this machine has 1.00 times the rate of multiply-adds; it runs other variants (a, 64 "
                 "stations: cpu-amx here, cpu there)."),
                (made(1e11, 0.01, share_of_transfers=0.9, transferred_bytes_per_second=1e10),
                 made(1e11, 0.02, share_of_transfers=0.9, transferred_bytes_per_second=2e10) | {"samples_per_second": 2e9},
                 "the other machine is 2.00 times as fast. It is bound by transfers: 90% of transfers here, 90% "
                 "there, and the other machine has 2.00 times the rate of transfers."),
                (made(1e11, 0.8), made(3e13, 0.8) | {"samples_per_second": 1.01e9},
                 "both are as fast, within 3%. It is bound by arithmetic: 80% of multiply-adds here, 80% there, and "
                 "the other machine has 300 times the rate of multiply-adds.")):
            with self.subTest(words):
                text = self.compare(figures([these]), figures([those]))
                self.assertEqual(text.splitlines()[-1], "filters, 1 case: " + words)

    def test_names(self):
        """Figures that were read are chosen like those that are measured."""
        these, those = self.write("this.json", figures([case("filters", "a, 16 stations", 1e9), case("filters", "a, 64 stations", 3e9),
                                                        case("filters", "b, 64 stations", 1e9, group="published")])), \
            self.write("other.json", figures([case("filters", "a, 16 stations", 5e9), case("filters", "a, 64 stations", 1e9)]))
        done = run("--read", these, "--compare", those, "64 stations")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("16 stations", done.stdout)
        self.assertIn("b, 64 stations", done.stdout)
        self.assertIn("filters, 1 case: this machine is 3.00 times as fast.", done.stdout)
        done = run("--read", these, "published")
        self.assertNotIn("a, 64 stations", done.stdout)
        done = run("--read", these, "stages", "b, 64")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "the figures have no case of 'stages' with 'b, 64' in its name\n")

    def test_devices(self):
        """A case that this machine lacks a device for stands beside that of the other one."""
        none = {key: None for key in CASE_KEYS[6:23]}
        mine = [case("filters", name, 1, place="cuda:0", group="published", **none, skipped="no device: none")
                for name in ("a", "b")]
        text = self.compare(figures(mine), figures([case("filters", "a", 1e9, place="cuda:0", group="published")]))
        self.assertRegex(text, r"(?m)^a +cuda:0 +1\.00 G .* skipped: no device: none\n")
        self.assertIn("published filters on a device: 1 case skipped: no device: none\n", text)

    def test_skipped(self):
        """A case that one machine has skipped counts for nobody."""
        none = {key: None for key in CASE_KEYS[6:23]}
        these = figures([case("filters", "a", 1e9), case("filters", "b", 1, **none, skipped="too large")])
        text = self.compare(these, figures([case("filters", "a", 1e9), case("filters", "b", 1e9)]))
        self.assertIn("skipped: too large", text)
        self.assertIn("filters, 1 case: both are as fast, within 3%.", text)

    def test_ceilings(self):
        def ceiling(rate, workers):
            return {"place": "host", "workers": workers, "name": "copies in memory", "rate": rate, "unit": "bytes/s"}
        text = self.compare(figures([], [ceiling(3e10, 1), ceiling(8e10, 64)]),
                            figures([], [ceiling(1e10, 1), ceiling(2e10, 2)]))
        self.assertRegex(text, r"copies in memory +host +1 +30\.0 G +bytes +10\.0 G +3\.00\n")
        self.assertRegex(text, r"copies in memory +host +64 +80\.0 G +bytes +20\.0 G +4\.00\n")
        self.assertNotIn("in common", text)

    def test_columns(self):
        """The other machine's bandwidth of a station stands beside this one's, and versions that differ are told."""
        def made(bandwidth, **others):
            return figures([case("capacity", "a", 1e9, group="published", samples_per_second_of_station=bandwidth)], **others)
        text = self.compare(made(3e6, version="1"), made(2.5e6, version="2"))
        self.assertRegex(text, r"(?m)^published capacity .* MHz of a station +other +variants$")
        self.assertRegex(text, r"(?m)^a +host .* 3\.00 +2\.50 +cpu$")
        self.assertRegex(text, r"\Athis machine: .*; Cornerturn 1\nother machine: .*; Cornerturn 2\n")
        text = self.compare(made(3e6), made(None))
        self.assertRegex(text, r"(?m)^a +host .* 3\.00 +cpu$")
        self.assertNotIn("Cornerturn", text)

    def test_load(self):
        """Each machine tells if other programs ran, with the largest share."""
        def made(*shares):
            return figures([case("filters", f"case {share}", 1e9, share_of_waiting=share) for share in shares])
        line = "other programs ran: threads waited for a processor for up to"
        text = self.compare(made(0.2, 0.34, None), made(0.09, 0))
        self.assertIn(f"\nthis machine: {line} 34% of the time ('case 0.34')\nother machine: made", text)
        self.assertEqual(text.count(line), 1)
        text = self.compare(made(0), made(0.1))
        self.assertIn(f"\nother machine: {line} 10% of the time ('case 0.1')\n", text)

    def test_no_case_in_common(self):
        text = self.compare(figures([case("filters", "a", 1e9)]), figures([case("filters", "b", 1e9)]))
        self.assertTrue(text.endswith("\nThe machines have no case in common: both want the same group and names.\n"))

    def test_picture(self):
        """Points lie below their roof where their shares say so."""
        none = {key: None for key in CASE_KEYS[6:23]}
        made = figures([case("filters", "a < b", 1e9), case("filters", "c", 1, place="cuda:0", **none, skipped="no device")],
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
        words = [text.text or "" for text in root.findall("{*}text")]
        self.assertTrue(any("a < b" in text for text in words))
        self.assertTrue(any(text.startswith("host: multiply-adds") for text in words))
        self.assertFalse(any("cuda" in text for text in words), "a place without figures has no roof")

    def test_picture_of_extremes(self):
        """Rates whose quotient is no number that a double has are no point of the picture."""
        made = figures([case("filters", "a", 1, operations_per_second=1e300, bytes_per_second=1e-300),
                        case("filters", "b", 1, operations_per_second=1e-300, bytes_per_second=1e300),
                        case("filters", "c", 1, operations_per_second=1e300, bytes_per_second=1e300)])
        picture = self.folder / "picture.svg"
        done = run("--read", self.write("this.json", made), "--picture", str(picture))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(xml.etree.ElementTree.parse(picture).getroot().findall("{*}circle")), 1)

    def test_unknown(self):
        """Variants and a stretch may be unknown, and a name that ends in a comma has nothing behind it."""
        made = figures([case("filters", "b,", 1, group="published", beside="a,", gain=2, whole_samples=5, variants=None)])
        done = run("--read", self.write("this.json", made))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(" 2.00 x a, ", done.stdout)
        self.assertNotIn("nan", done.stdout)


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
                (["--seconds", "0"], "--seconds wants a number of seconds, more than 0"),
                (["--seconds", "nan"], "--seconds wants a number of seconds, more than 0"),
                (["--quick", "--seconds", "1"], "one of --quick and --seconds"),
                (["--workers", "0"], "--workers wants a number from 1 to 4096"),
                (["--workers", "-1"], "--workers wants a number from 1 to 4096"),
                (["--json", "--compare", "x"], "--compare wants tables: it is not possible with --json"),
                (["--log", "x", "--picture", "x"], "wants two files for --log and --picture, but is given one"),
                (["--read", "x", "--quick"], "--read measures nothing")):
            with self.subTest(arguments):
                self.refuse(arguments, 2, "cornerturn bench: .*" + message)

    def test_names(self):
        self.refuse(["gains", "nonsense"], 1, "^no case of 'all' has 'nonsense' in its name")
        self.refuse(["pipelines", "gains"], 1, "^no case of 'pipelines' has 'gains' in its name, but one of 'stages' has\n$")
        self.refuse(["zzz"], 1, "^no case of 'all' has 'zzz' in its name\n$")

    def test_other_cases(self):
        """A file whose cases are none of those to measure is told before anything is measured."""
        path = self.write("other.json", figures([case("correlators", "correlator a", 1e9, group="published")]))
        for words, message in (
                (["correlat"], "'all' with 'correlat' in its name"),
                (["pipelines"], "'pipelines'"),
                (["published", "filter", "bank"], "'published' with 'filter' or 'bank' in its name")):
            with self.subTest(words):
                self.refuse(["--compare", path, *words], 1,
                            f"^{re.escape(path)}: has no case of {message}; both machines want the same group and names\n$")

    def test_files(self):
        good = figures([case("filters", "a", 1e9)])
        for made, message in (
                ("{", "is not JSON: "),
                ("[]", "wants what `cornerturn bench --json` prints, with the form 1"),
                ({"form": 2}, "wants what `cornerturn bench --json` prints, with the form 1"),
                ("[" * 100000, "wants at most 64 objects and lists in one another, but is given more"),
                (good | {"workers": "two"}, "'workers' wants a whole number"),
                (good | {"workers": -1}, "'workers' wants a whole number from 0"),
                (good | {"state": {}}, "'state' wants a text"),
                (good | {"state": "over"}, "'state' wants complete or interrupted"),
                (json.dumps(good).replace("100000000000.0", "1e999"),
                 r"cases\[0\]: 'multiply_adds_per_second' wants a number from 0"),
                (figures([case("filters", "a", 1, gain=-1)]), r"cases\[0\]: 'gain' wants a number from 0"),
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

    def test_files_to_write(self):
        """A place that cannot have a file is told before anything is measured, and what is there stays."""
        pipe, link = self.folder / "pipe", self.folder / "link"
        os.mkfifo(pipe)
        link.symlink_to(self.write("here", "here"))
        for option in "--log", "--picture":
            for path, fault in ((pipe, "wants a regular file in its place, but is given a folder or device"),
                                (link, "wants a regular file in its place, but is given a link"),
                                (self.folder, "wants a regular file in its place, but is given a folder or device"),
                                (self.folder / "none" / "x", "cannot be written: No such file or directory"),
                                ("", "cannot be written: No such file or directory")):
                with self.subTest(option=option, path=path):
                    self.refuse([option, str(path), "gains"], 1, f"^{option}: {path}: {fault}$")
        self.assertTrue(pipe.is_fifo())
        self.assertTrue(link.is_symlink())

    def test_file_too_large(self):
        """What cannot be written leaves nothing; the figures are printed all the same."""
        log, good = self.folder / "log", figures([case("filters", "a", 1e9)])
        done = subprocess.run([COMMAND, "bench", "--read", self.write("this.json", good), "--picture", str(log)],
                              capture_output=True, text=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, f"^--picture: {log}: cannot be written: .*\n$")
        self.assertIn("\na ", done.stdout)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["this.json"])


if __name__ == "__main__":
    tap.main()
