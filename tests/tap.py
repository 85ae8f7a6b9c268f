# SPDX-License-Identifier: BSD-3-Clause
"""Runs a file's unittest cases and prints TAP, so that each case counts separately."""
import signal
import sys
import unittest


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.n_done = 0

    def line(self, verdict, test, remark=""):
        self.n_done += 1
        print(f"{verdict} {self.n_done} - {test.id().removeprefix('__main__.')}{remark}", flush=True)

    def addSuccess(self, test):
        self.line("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("ok", test, f" # SKIP {reason}")

    def failed(self, test, error):
        for line in self._exc_info_to_string(error, test).splitlines():
            print(f"# {line}", file=sys.stderr)
        self.line("not ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.failed(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.failed(subtest, error)


def heed_signals():
    """Programs that are started must not inherit these as ignored, as they are behind nohup or a
    shell's &."""
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)


def main():
    heed_signals()
    suite = unittest.defaultTestLoader.loadTestsFromName("__main__")
    result = TapResult()
    suite.run(result)
    print(f"1..{result.n_done}")
    sys.exit(not result.wasSuccessful())
