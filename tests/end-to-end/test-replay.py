#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Some seconds of a station from the network, sent with faults; with --seconds, as long as one likes
(scripts/replay)."""
import sys
import unittest

import numpy as np

import graphs
import replay
import replay_capture
import replay_network
import tap


class Replay(graphs.GraphTest):
    def check(self, case, seconds, is_veth=False, **options):
        with replay_network.open_network(is_veth) as network:
            return replay.run(replay.CASES[case], self.folder, network, seconds, integration=100, **options)

    def test_steady(self):
        """Two seconds, an even and an odd one, whose sequences begin again."""
        account = self.check("steady", 2.2, speed=0.5)
        for port in account.capture.packets:
            self.assertEqual(np.unique(port["second"]).tolist(),
                             [replay_capture.SECOND + i for i in range(3)])
            self.assertEqual(np.count_nonzero(np.diff(port["sequence"].astype(int)) < 0), 2)
        self.assertGreater(account.lost, 100)
        self.assertGreater(account.reasons["duplicate"], 100)
        self.assertGreater(account.counters["reordered"], 100)
        self.check_faults(account)

    def check_faults(self, account):
        """What is wrong in an account is found."""
        valid = int(account.valid[0].nonzero()[0][1000])
        array = account.array
        account.array = np.array(array)
        account.array[16 * valid + 5, 1, 0, 1, 0] ^= 1
        self.assertRaises(AssertionError, account.compare_samples)
        account.array = np.concatenate([array[1:], array[:1]])
        self.assertRaises(AssertionError, account.compare_samples)
        account.array = array
        for name in "received", "used", "missing", "overrun":
            account.counters[name] += 1
            self.assertRaises(AssertionError, account.check_counts)
            account.counters[name] -= 1
        account.sent.counts["sent"] += 1
        self.assertRaises(AssertionError, account.check_received)
        account.sent.first[0, account.first + valid] = False
        self.assertRaises(AssertionError, account.check_lost)
        account.valid[0, valid] = False
        self.assertRaises(AssertionError, account.check_products)

    def test_stopped(self):
        """The graph stands until the kernel has no room for more."""
        account = self.check("stopped", 8, speed=2)
        self.assertGreater(account.dropped, 0)
        self.assertTrue(account.valid[:, -account.n // 20:].any(1).all())

    def test_restarted(self):
        """A gap, and nothing else."""
        account = self.check("restarted", 3)
        second = account.replay.senders[1][1] - account.first
        gap = account.capture.n // 6
        self.assertFalse(account.valid[:, second - gap:second].any())
        self.assertTrue(account.valid[:, :second - gap].any(1).all())
        self.assertTrue(account.valid[:, second:].any(1).all())
        self.assertLess(account.lost, 2 * gap + 0.05 * account.valid.size)

    def test_veth(self):
        """Between two network namespaces."""
        reason = replay_network.no_veth()
        if reason:
            raise unittest.SkipTest(reason)
        self.check("steady", 0.5, is_veth=True)


if __name__ == "__main__":
    replay.main() if sys.argv[1:] else tap.main()  # pylint: disable=expression-not-assigned
