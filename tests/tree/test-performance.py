#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/performance.md is what scripts/performance makes from docs/measured; lines of benchmarks are
understood, and what cannot be measured keeps its file."""
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import sys
import unittest

import tap

SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
sys.path.insert(0, str(SOURCE / "scripts"))
import measured  # pylint: disable=wrong-import-position
import performance_page  # pylint: disable=wrong-import-position

HOST = """# 2026-01-02, A processor, 2 processors
ceilings, 1 thread: FMA 219 Gop/s, copy in L2 99 GB/s, in memory 15.0 GB/s
                                              w  busy Msamples/s     GB/s    Gop/s of FMA  of L2 of mem  variant, layouts
stage      fir ci8 256x16                     1  100%    1419.00    14.19    90.82  40.7%  14.5%  95.2%  cpu-avx512
stage      copy                               1   99%    3847.00    61.55     0.00         62.0% 427.2%  cpu
stage      lost                               1 not run: no memory
framework  ten nodes                          2       1.94 us per node and block, 3.9 us of processor time
fusion     fir + fft ci8 256x16, 4 x 2, cpu   2   98%     816.00     8.16    52.00  11.1%   2.0%
fusion     fir + fft ci8 256x16, 4 x 2, fused  2   47%    1051.00    10.51    60.00  12.1%   2.0%  30.0%
fusion     fir + fft ci8 256x16, 4 x 2        2 1.29 x the chain
fusion     gains, power, apart                2  100%    2206.00    26.47    19.85  17.0%  36.0% 121.0%
fusion     gains, power, attached             2  100%    2405.00    28.86    21.65  18.6%  31.8% 131.0%
fusion     gains, power                       2 1.11 x the stages apart

correlate cf32 64 stations: share of the FMA peak    0.81, at least  0.50 of the peak  pass
empty stages: time per node and block                5.10, at most  5.00 us           FALL SHORT
PFB cf32 256x16: beside liquid firpfbch            not measured
"""
DEVICE = """2026-01-03, A device: FMA 60.0 Top/s, copy 4000 GB/s, from pinned memory 55.3 GB/s, to it 55.2 (at once 50.3 and 50.4; beside them copy has 0.97 of its speed, FMA 1.00)
PFB ci8 256 channels, 8 taps                 wall   200.00 G/s  each filter+spectra 210, sink 10518
PFB ci8 256 channels, 8 taps, cuda and radix-cuda wall   100.00 G/s  each filter 322, spectra 223, sink 8863
PFB f32 16 channels, 32 taps                 wall   100.00 G/s  each filter 307, spectra 328, sink 72898
PFB ci8 256 channels, 8 taps, then power     wall   150.00 G/s  each filter+spectra+behind 319, sink 5073
PFB ci8 256 channels, 8 taps, then power     wall   160.00 G/s  each filter+spectra 286, behind 310, sink 7391
PFB, power, integrate 64: ci8 256 channels, 8 taps wall   222.58 G/s  each filter+spectra+power+sums 269, sink 11554
                                             0.11 of copy, 0.26 of FMA
PFB, power, integrate 64: ci8 256 channels, 8 taps wall   111.29 G/s  each filter+spectra 263, power 302, sums 714
fir ci8[station pol time] 256 channels, 4 taps wall   297.38 G/s  filter   325.32 G/s  0.77 of copy    5.20 Top/s  0.08 of FMA
correlate ci8 64 stations, 1024 spectra      wall    50.00 G/s  stage    61.00 G/s  492.00 Top/s  7.68 of FMA
correlate ci8 64 stations, 1024 spectra, warps=4 wall    40.00 G/s  stage    44.00 G/s  351.00 Top/s  5.48 of FMA
beamform ci8 512 x 256, weights as ci8       wall    91.06 G/s  stage    91.45 G/s  374.57 Top/s  5.84 of FMA
beamform ci8 512 x 256, weights as ci8, then power wall   111.14 G/s  each pointing 90, stage+behind 112, sink 27335
fx-correlator 64 stations, cf32              wall    37.68 G/s  each filter 321, spectra 205, stage 54, sink 17694
delay, changing, spectra                     wall    90.00 G/s  y   100.00 G/s  0.58 of copy
PFB ci8 512 channels, 8 taps, then power     wall   111.00 G/s  each filter 319, sink 5073
correlate ci16 64 stations, 1024 spectra     not run: no memory

fx-correlator 64 stations, cf32                         27.68, at least   28.00 Gsamples/s       FALL SHORT
PFB ci8 256 channels, 8 taps, then power                 0.94, at least    1.00 times as fast as two kernels FALL SHORT
correlate ci16 64 stations, 1024 spectra             not run
"""
ORDERS = """orders: from each order to [time channel station pol], blocks of 64 MiB in and out, per worker
cf32  distance 1:  0.71 of copy, the median of 10
cf32  the slowest order     0.56 of copy, at least 0.30: pass
ci8   the median            0.60 of copy
"""
PUBLISHED = """# 2026-01-02, A processor, 2 processors
machine: A processor, 2 workers
energy: not measured: no counters

published filters               place  samples/s  operations/s  of FMA  published                  variants
filter ci4 64x64, 16 stations   host       158 M        40.5 G   12.1%  Somebody 2011: 16 GFLOP/s  cpu-avx512
filter ci8 64x64, 16 stations   host                                    Somebody 2011: 16 GFLOP/s  skipped: too large
published filters on a device: 2 cases skipped: no device: none

published layouts       place  samples/s  gain              published             variants
one, default layouts    host        78 M                                          cpu; + transpose
one, tuned layouts      host       100 M  1.28 x default    Another 2013: by 20%  cpu
"""


def page(template, **outputs):
    every = {group: measured.parse(outputs.get(group.replace("-", "_"), ""))
             for group in performance_page.GROUPS}
    return performance_page.page(template, every)


class Lines(unittest.TestCase):
    def test_of_the_processor(self):
        output = measured.parse(HOST)
        self.assertEqual(output.remarks, ["2026-01-02, A processor, 2 processors"])
        self.assertEqual(output.ceilings,
                         ["1 thread: FMA 219 Gop/s, copy in L2 99 GB/s, in memory 15.0 GB/s"])
        self.assertEqual([(case.group, case.name, case.workers, case.busy) for case in output.host_cases],
                         [("stage", "fir ci8 256x16", 1, 100), ("stage", "copy", 1, 99),
                          ("fusion", "fir + fft ci8 256x16, 4 x 2, cpu", 2, 98),
                          ("fusion", "fir + fft ci8 256x16, 4 x 2, fused", 2, 47),
                          ("fusion", "gains, power, apart", 2, 100),
                          ("fusion", "gains, power, attached", 2, 100)])
        self.assertEqual([case.shares for case in output.host_cases[:2]],
                         [[40.7, 14.5, 95.2], [None, 62.0, 427.2]])
        self.assertEqual(output.ratios, {("fir + fft ci8 256x16, 4 x 2", 2): 1.29,
                                         ("gains, power", 2): 1.11})
        self.assertEqual([(floor.value, floor.bound, floor.limit, floor.unit, floor.verdict)
                          for floor in output.floors],
                         [(0.81, "least", 0.5, "of the peak", "pass"), (5.1, "most", 5, "us", "FALL SHORT"),
                          (None, "", 0, "", "not measured")])

    def test_of_a_device(self):
        output = measured.parse(DEVICE)
        self.assertEqual((output.date, output.device, output.copy), ("2026-01-03", "A device", 4000))
        self.assertEqual(len(output.device_cases), 15)
        bank, filter_, delay = output.device_cases[0], output.device_cases[7], output.device_cases[-2]
        self.assertEqual((bank.wall, bank.node, bank.nodes),
                         (200, None, {"filter+spectra": 210, "sink": 10518}))
        self.assertEqual((filter_.node, filter_.of_copy, filter_.operations, filter_.of_fma, filter_.nodes),
                         (325.32, 0.77, 5.2, 0.08, {}))
        self.assertEqual((delay.rate, delay.of_copy, delay.of_fma), (100, 0.58, None))
        self.assertEqual(output.floors[1].unit, "times as fast as two kernels")
        self.assertEqual(output.floors[2].verdict, "not run")

    def test_of_a_device_without_a_date_and_with_a_cut_line(self):
        output = measured.parse("NVIDIA H200: FMA 64.0 Top/s, copy 4234 GB/s, from pinned memory 5")
        self.assertEqual((output.date, output.device, output.copy), ("", "NVIDIA H200", 4234))


class Tables(unittest.TestCase):
    def assert_rows(self, text, *rows):
        for row in rows:
            with self.subTest(row):
                self.assertIn(row, text.splitlines())

    def test_of_a_device(self):
        self.assert_rows(
            page("@run-gpu@\n\n@floors-gpu@\n\n@banks@\n\n@chains@\n\n@filters@\n\n@correlators@\n\n"
                 "@beamformers@\n\n@others@\n", gpu=DEVICE),
            "2026-01-03, A device. FMA 60.0 Top/s, copy 4000 GB/s, from pinned memory 55.3 GB/s, to it 55.2 "
            "(at once 50.3 and 50.4; beside them copy has 0.97 of its speed, FMA 1.00).",
            "| fx-correlator 64 stations, cf32 | 27.7 Gsamples/s | least 28 | **falls short** |",
            "| correlate ci16 64 stations, 1024 spectra |  |  | not run |",
            # 10 bytes at 200 Gsamples/s are half of 4000 GB/s, and of f32 8 at 100 a fifth.
            "|  | taps | variant | 16 channels | 256 channels |",
            "| ci8 | 8 | the planner's |  | 200 (0.50) |",
            "| ci8 | 8 | cuda and radix-cuda |  | 100 (0.25) |",
            "| f32 | 32 | the planner's | 100 (0.20) |  |",
            "| fused / not fused: gain | power | power, integrate 64 |",
            "| ci8 256 channels, 8 taps | 150 / 160: 0.94 **falls short** | 223 / 111: 2.00 |",
            "| ci8[station pol time] | 256 | the planner's | 325 (0.77) |",
            "| ci8 | 1024 | the planner's | 492 (7.68) |",
            "| ci8 | 1024 | warps=4 | 351 (5.48) |",
            "| beams x stations | alone | then power |",
            "| ci8 512 x 256, weights as ci8 | 91.5, 375 (5.84) | 111 |",
            "| fx-correlator | 64 stations, cf32: 37.7 (filter 321, spectra 205, stage 54) |",
            # It did not run by itself, so there is no gain.
            "| PFB | ci8 512 channels, 8 taps, then power: 111 (filter 319) |",
            "| delay | changing, spectra: 100 (0.58) |")

    def test_of_the_processor(self):
        self.assert_rows(
            page("@run-stage@\n\n@stages@\n\n@floors-cpu@\n\n@fusion@\n\n@run-orders-cpu@\n\n@run-orders-gpu@\n\n@orders@\n",
                 stage=HOST, floors=HOST, fusion=HOST, orders_cpu=ORDERS,
                 orders_gpu="# 2026-01-03\n" + ORDERS.replace("per worker", "A device")),
            "2026-01-02, A processor, 2 processors. 1 thread: FMA 219 Gop/s, copy in L2 99 GB/s, in memory 15.0 "
            "GB/s.",
            "| fir | ci8 256x16: 1419 (41% FMA, 14% L2) |", "| copy | 3847 (62% L2) |",
            "| empty stages: time per node and block | 5.1 us | most 5 | **falls short** |",
            "| transposes of cf32: the slowest order | 0.56 of copy | least 0.3 | held |",
            "| fir + fft ci8 256x16, 4 x 2 | 1051 / 816: 1.29, busy 47% |",
            "| gains, power | 2405 / 2206: 1.11 |", "| processor | cf32 | 0.71 |",
            "2026-01-03. A device.", "| GPU | cf32 | 0.71 |")

    def test_of_what_is_published(self):
        text = page("@run-published@\n\n@published@\n", published=PUBLISHED)
        self.assert_rows(
            text, "2026-01-02, A processor, 2 processors.", "#### Filters", "Published: Somebody 2011: 16 GFLOP/s.",
            "|  | place | samples/s | of FMA |", "| filter ci4 64x64, 16 stations | host | 158 M | 12.1% |",
            "| filter ci8 64x64, 16 stations | host |  |  |", "#### Layouts", "|  | place | samples/s | gain | published |",
            "| one, default layouts | host | 78 M |  |  |",
            "| one, tuned layouts | host | 100 M | 1.28 x default | Another 2013: by 20% |")
        self.assertNotIn("on a device", text)

    def test_of_what_is_published_on_a_device(self):
        printed = PUBLISHED.replace("host ", "cuda ", 1)
        text = page("@published-gpu@\n", published_gpu=printed)
        self.assert_rows(text, "#### Filters", "| filter ci4 64x64, 16 stations | cuda | 158 M | 12.1% |")
        self.assertNotIn("host", text)
        self.assertNotIn("Layouts", text)

    def test_of_nothing(self):
        self.assertEqual(page("a\n\n@run-gpu@\n\n@banks@\n"), "a\n\nNot measured in this run.\n")

    def test_of_an_unknown_mark(self):
        with self.assertRaisesRegex(ValueError, "wants a mark of .*, but is given @rows@"):
            page("@rows@\n")


class Page(unittest.TestCase):
    def test_is_made_from_what_was_measured(self):
        made = performance_page.page(performance_page.TEMPLATE.read_text(encoding="utf-8"),
                                     performance_page.read_all())
        self.assertEqual(performance_page.PAGE.read_text(encoding="utf-8"), made,
                         "scripts/performance makes the page again")


# A meson that builds nothing and knows these benchmarks, each a command of the shell.
MESON = """#!/bin/sh
[ "$1" = introspect ] && cat <<'END'
%s
END
exit 0
"""


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
class Command(unittest.TestCase):
    @contextlib.contextmanager
    def tree(self, **commands):
        """A tree with scripts/performance, whose benchmarks run these commands."""
        listed = [{"name": name, "cmd": ["sh", "-c", command], "env": {"WORD": "printed"}, "timeout": 60}
                  for name, command in commands.items()]
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("scripts", "build", "docs/measured", "docs/pictures", "bin"):
                (root / name).mkdir(parents=True)
            for name in ("performance", "performance_page.py", "measured.py"):
                shutil.copy(SOURCE / "scripts" / name, root / "scripts")
            (root / "build" / "build.ninja").touch()
            (root / "docs" / "measured" / "performance.md.in").write_text("# Speeds\n\n@run-gpu@\n\n@banks@\n")
            (root / "bin" / "meson").write_text(MESON % json.dumps(listed))
            (root / "bin" / "meson").chmod(0o755)
            yield root

    def run_in(self, root, *arguments):
        return subprocess.run(
            [sys.executable, root / "scripts" / "performance", *arguments], capture_output=True, text=True,
            check=False, env={**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "MPLCONFIGDIR": str(root)})

    def test_makes_page_and_pictures(self):
        with self.tree() as root:
            (root / "docs" / "measured" / "gpu.txt").write_text(DEVICE)
            (root / "docs" / "pictures" / "performance-stages.png").touch()
            result = self.run_in(root)
            self.assertEqual((result.returncode, result.stdout), (0, "docs/performance.md\n"), result.stderr)
            self.assertIn("| ci8 | 8 | the planner's |  | 200 (0.50) |",
                          (root / "docs" / "performance.md").read_text())
            self.assertEqual(sorted(path.name for path in (root / "docs" / "pictures").iterdir()),
                             [f"performance-{name}.png" for name in ("banks", "chains", "correlators")])

    def test_measures_what_it_can(self):
        commands = {"floors": "echo '# $WORD' >&2; echo 'a  2.00, at least 3.00 x  FALL SHORT'; exit 1",
                    "gpu": "echo no device; exit 77", "fusion": "echo $WORD; exit 3"}
        with self.tree(**commands) as root:
            folder = root / "docs" / "measured"
            for group in commands:
                (folder / f"{group}.txt").write_text("as before\n")
            result = self.run_in(root, "--measure", *commands)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("gpu: skipped: no device; its file stays\n", result.stdout)
            self.assertIn("fusion: failed with status 3; its file stays\nprinted\n", result.stdout)
            self.assertRegex((folder / "floors.txt").read_text(),
                             r"^# \d{4}-\d\d-\d\d, .*, \d+ processors\na  2.00, at least 3.00 x  FALL SHORT\n$")
            for group in "gpu", "fusion":
                self.assertEqual((folder / f"{group}.txt").read_text(), "as before\n")
            self.assertEqual(self.run_in(root, "--measure", "floors").returncode, 0)

    def test_refuses_what_it_does_not_know(self):
        with self.tree() as root:
            self.assertIn("--measure wants floors, network, orders-cpu, kernels-cpu, stage, pipeline, fusion, published, gpu, orders-gpu, but is "
                          "given stages", self.run_in(root, "--measure", "stages").stderr)
            self.assertIn("scripts/performance --measure [GROUP…]", self.run_in(root, "--all").stderr)
            (root / "build" / "build.ninja").unlink()
            self.assertIn("wants a build folder, but there is none", self.run_in(root, "--measure").stderr)


if __name__ == "__main__":
    tap.main()
