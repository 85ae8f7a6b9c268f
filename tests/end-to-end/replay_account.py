# SPDX-License-Identifier: BSD-3-Clause
"""Whether what was sent, received, used and missing agree, packet by packet."""
import itertools
import json
import statistics

import numpy as np

import banks
from replay_capture import AT_ONCE, BEAMLETS, PORTS, SLOTS

BANK = banks.Bank(16, 8)
EPSILON = 2.0 ** -24
ALIEN = ["stray", "corrupt", "truncated", "mistimed"]
REASONS = ["late", "duplicate", *ALIEN, "dropped", "flagged"]


def equal(given, wanted, what):
    if given != wanted:
        raise AssertionError(f"{what}: wants {wanted}, but is {given}")


def check_all(good, what):
    if not np.all(good):
        raise AssertionError(f"{what}: {np.size(good) - np.count_nonzero(good)} of {np.size(good)} differ")


class Sent:
    """What the logs of the senders say, by port and number of the packet in the captures."""

    def __init__(self, replay):
        shape = (PORTS, replay.capture.n)
        self.first, self.again = np.zeros(shape, bool), np.zeros(shape, np.uint8)
        self.counts = dict.fromkeys(("read", "sent", "lost", "duplicated", "reordered", "unsent"), 0)
        for number, (_, first) in enumerate(replay.senders):
            log = json.loads((replay.folder / f"sent{number}.json").read_text())
            for address in log["addresses"]:
                for name in self.counts:
                    self.counts[name] += address[name]
            with open(replay.folder / f"lines{number}", encoding="utf-8") as lines:
                self.read(lines, first)
        counts = self.counts
        equal(counts["sent"], counts["read"] - counts["lost"] + counts["duplicated"] - counts["unsent"],
              "datagrams sent")
        equal(int(self.first.sum() + self.again.sum()), counts["sent"], "lines of datagrams")
        equal(counts["unsent"], 0, "packets unsent")

    def read(self, lines, first):
        while some := list(itertools.islice(lines, AT_ONCE)):
            rows = json.loads(f"[{','.join(some)}]")
            where = np.array([(row["address"], first + row["packet"]) for row in rows]).T
            fate = np.array([row["fate"] for row in rows])
            self.first[tuple(where[:, fate == "sent"])] = True
            np.add.at(self.again, tuple(where[:, fate == "duplicate"]), 1)


class Account:
    """Of a run: `first` to `end` are the packets of the stream, the last of which may be in part."""

    def __init__(self, replay, given):
        self.replay, self.capture, self.sent = replay, replay.capture, Sent(replay)
        node = next(node for node in given["nodes"] if node["name"] == "station")
        self.counters, self.accounts = node["counters"], node["accounts"]
        self.array = np.load(replay.folder / "raw.npy", mmap_mode="r")
        self.beside = json.loads((replay.folder / "raw.npy.json").read_text())
        self.first = self.capture.number(self.beside["start"])
        self.n = -(-len(self.array) // SLOTS)
        self.valid = np.zeros((PORTS, self.n), bool)

    def compare_samples(self):
        """Each packet is as in the captures, or zero, which no sample of the captures is."""
        for at in range(0, self.n, AT_ONCE):
            end = min(at + AT_ONCE, self.n)
            given = np.array(self.array[SLOTS * at:SLOTS * end])
            wanted = self.capture.samples(self.first + at, self.first + end)
            rows = np.zeros((SLOTS * (end - at), PORTS * BEAMLETS * 4), np.int8)
            rows[:len(given)] = given.reshape(len(given), -1)
            valid = rows.reshape(wanted.shape).any((1, 3, 4, 5))
            wanted = (wanted * valid[:, None, :, None, None, None]).reshape(len(rows), -1)
            wanted[len(given):] = 0
            check_all(rows == wanted, f"samples of packets {at} to {end}")
            self.valid[:, at:end] = valid.T

    def check_counts(self):
        """The counters of the source, and those of each address."""
        counters = self.counters
        self.reasons = {name: counters[name] for name in REASONS}
        self.received, self.used, self.missing = (counters[name] for name in ("received", "used", "missing"))
        self.alien = sum(self.reasons[name] for name in ALIEN)
        equal(self.received, self.used + sum(self.reasons.values()), "packets received")
        equal((self.alien, self.reasons["flagged"]), (0, 0), "alien and flagged packets")
        equal([account["name"] for account in self.accounts], self.replay.addresses, "accounts")
        for name in counters:
            equal(sum(account["counters"][name] for account in self.accounts), counters[name], name)
        for valid, drops, account in zip(self.valid, self.replay.drops, self.accounts):
            own, n_valid = account["counters"], int(valid.sum())
            equal((own["used"], own["missing"], own["overrun"]), (n_valid, self.n - n_valid, drops),
                  f"used, missing and dropped by the kernel of {account['name']}")
        lost = [SLOTS * int(n) for n in (~self.valid).sum(1)]
        lost = [n - (SLOTS * self.n - len(self.array)) * (not self.valid[port, -1])
                for port, n in enumerate(lost)]
        invalid = self.beside["validity"]["invalid_samples"] or [0] * PORTS * BEAMLETS
        equal(invalid, list(np.repeat(lost, BEAMLETS)), "invalid samples by lane")

    def check_received(self):
        """All that was sent and that the kernel has not dropped is counted, or within the window at the
        end."""
        sent = self.sent
        self.undecided = int(sent.first[:, self.first + self.n:].sum())
        self.dropped = sum(self.replay.drops)
        short = sent.counts["sent"] - self.dropped - self.received - self.undecided
        # Of what is within the window, or not read yet, the kernel may have dropped some, and some may
        # have come too late or had no room: that is counted at once.
        most = self.dropped + self.reasons["late"] + self.reasons["dropped"]
        if not -min(most, self.undecided) <= short <= 0:
            raise AssertionError(f"received {self.received} and {self.undecided}, and dropped {self.dropped}, "
                                 f"but {sent.counts['sent']} were sent")

    def check_lost(self):
        """What was not sent is invalid, and nothing else but what came too late or had no room. What is of
        a time before the stream, because it was delayed behind the packets that describe it, is late."""
        sent = self.sent.first[:, self.first:self.first + self.n]
        check_all(sent | ~self.valid, "validity of what was not sent")
        before = int(self.sent.first[:, :self.first].sum() + self.sent.again[:, :self.first].sum())
        self.lost = int((~sent).sum())
        self.others = int((sent & ~self.valid).sum())
        most = self.reasons["late"] - before + self.reasons["dropped"] + self.dropped
        if self.others > most:
            raise AssertionError(f"{self.others} packets are invalid that were sent, but {most} were "
                                 "late or dropped")
        again = self.sent.again[:, self.first:]
        least, most_again = int(again[:, :self.n].sum()) if most == 0 else 0, int(again.sum())
        if not least <= self.reasons["duplicate"] <= most_again:
            raise AssertionError(f"duplicates: wants {least} to {most_again}, but is "
                                 f"{self.reasons['duplicate']}")

    def check_products(self):
        """The weights of all visibilities, and the visibilities and powers of some integrations."""
        length = self.replay.integration
        n_spectra = (len(self.array) - BANK.window) // SLOTS + 1
        sums = np.cumsum(np.pad(self.valid, ((0, 0), (1, 0))), 1)
        kept = (sums[:, 8:] - sums[:, :-8] == 8)[:, :n_spectra]
        starts = np.arange(0, n_spectra, length)
        wanted = np.repeat(np.add.reduceat(kept.astype(int), starts, 1).T, BEAMLETS, 1)
        load = self.replay.folder.joinpath
        weights = np.load(load("weights.npy"), mmap_mode="r")[..., 0]
        equal(weights.shape, (*wanted.shape, 16), "shape of the weights")
        check_all(weights == wanted[..., None], "weights")
        visibilities = np.load(load("visibilities.npy"), mmap_mode="r")[:, :, :, 0]
        power = np.load(load("power.npy"), mmap_mode="r")[:, :, :, 0]
        for k in sorted({0, len(starts) // 3, len(starts) // 2, max(0, len(starts) - 2)}):
            self.compare_integration(k, kept[:, length * k:length * (k + 1)], visibilities[k], power[k])
        self.n_integrations = len(starts)

    def compare_integration(self, k, kept, visibilities, power):
        """As in double precision; the bound is that of lofar-station's own test."""
        length = self.replay.integration
        first = self.first + length * k
        parts = self.capture.samples(first, first + kept.shape[1] + 7).astype(float)
        samples = (parts[..., 0] + 1j * parts[..., 1]).reshape(-1, PORTS * BEAMLETS, 2)
        kept = np.repeat(kept.T, BEAMLETS, 1)
        spectra = np.fft.fftshift(BANK.spectra(samples), 1).transpose(0, 2, 1, 3)
        spectra *= kept[:, :, None, None]
        wanted = np.einsum("tscp,tscq->scpq", spectra, spectra.conj())
        scale = BANK.bound(samples)
        limit = (2 * 16 + length) * EPSILON * np.einsum("tsp,tsq->spq", scale, scale)
        check_all(abs(visibilities - wanted) <= limit[:, None], f"visibilities of integration {k}")
        autos = np.einsum("scpp->scp", wanted).real
        check_all(abs(power - autos) <= np.einsum("spp->sp", limit)[:, None], f"powers of integration {k}")

    def memory(self):
        """MiB: medians of the sixth and the last tenth of the run, and the most."""
        sizes = [size / 2 ** 20 for _, size in self.replay.resident]
        half = sizes[len(sizes) // 2:]
        tenth = max(1, len(half) // 5)
        return statistics.median(half[:tenth]), statistics.median(half[-tenth:]), max(sizes)

    def check_memory(self, most=32):
        middle, end, _ = self.memory()
        if end - middle > most:
            raise AssertionError(f"memory: {end - middle:.1f} MiB more at the end than at half of the run")

    def show(self, title):
        sent, reasons = self.sent.counts, self.reasons
        middle, end, most = self.memory()
        print(f"""{title}
  sent      {sent['sent']} = {sent['read']} read - {sent['lost']} lost + {sent['duplicated']} duplicated; """
              f"""{sent['reordered']} reordered
  received  {self.received} + {self.undecided} within the window at the end; the kernel dropped {self.dropped}
            {self.received} = {self.used} used + {reasons['late']} late + {reasons['duplicate']} duplicate + """
              f"""{self.alien} alien + {reasons['dropped']} dropped + {reasons['flagged']} flagged
  stream    {PORTS} ports of {self.n} packets: {PORTS * self.n} = {self.used} used + {self.missing} missing
  missing   {self.missing} = {self.lost} not sent + {self.others} late or dropped
  samples   {len(self.array)} of {PORTS * BEAMLETS} subbands: equal to the captures', or invalid if missing
  products  {self.n_integrations} integrations: weights exact, visibilities and powers within their bounds
  memory    {middle:.1f} MiB at half of the run, {end:.1f} MiB at its end, {most:.1f} MiB at most""",
              flush=True)


def check(replay, given):
    account = Account(replay, given)
    account.compare_samples()
    account.check_counts()
    account.check_received()
    account.check_lost()
    account.check_products()
    return account
