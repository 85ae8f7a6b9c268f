# SPDX-License-Identifier: BSD-3-Clause
"""The simulated sky of `generate` in numpy, written from its README only: counters, filters,
phases."""
import numpy

LIGHT = 299792458.0
RECEIVER, SOURCE = 0, 1
GOLDEN = numpy.pi * (3 - numpy.sqrt(5))


def philox(counter, key):
    """Philox4x32-10 of arrays of words."""
    low = numpy.uint64(0xffffffff)
    c = [numpy.asarray(word, numpy.uint64) for word in counter]
    k0, k1 = key
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xd2511f53), c[2] * numpy.uint64(0xcd9e8d57)
        c = [b >> numpy.uint64(32) ^ c[1] ^ numpy.uint64(k0), b & low,
             a >> numpy.uint64(32) ^ c[3] ^ numpy.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9e3779b9) & 0xffffffff, (k1 + 0xbb67ae85) & 0xffffffff
    return c


def noise(t, lane, kind, seed=1, real=False):
    """Samples of power 1 at the ticks t."""
    t = numpy.asarray(t, numpy.int64)
    pair = (t >> 1).astype(numpy.uint64)
    nought = numpy.zeros_like(pair)
    words = philox([pair & numpy.uint64(0xffffffff), pair >> numpy.uint64(32),
                    nought + numpy.uint64(lane), nought + numpy.uint64(kind)],
                   (seed & 0xffffffff, seed >> 32 & 0xffffffff))
    odd = (t & 1).astype(bool)
    u = ((numpy.where(odd, words[2], words[0]) >> numpy.uint64(9)).astype(float) + 0.5) / 2**23
    v = (numpy.where(odd, words[3], words[1]) >> numpy.uint64(8)).astype(float) / 2**24
    z = numpy.sqrt(-numpy.log(u)) * numpy.exp(2j * numpy.pi * v)
    return numpy.sqrt(2) * z.real if real else z


def spiral(radius, n):
    """Positions [station][east, north, up]."""
    s = numpy.arange(n)
    r, azimuth = radius * numpy.sqrt((s + 0.5) / n), s * GOLDEN
    return numpy.stack([r * numpy.sin(azimuth), r * numpy.cos(azimuth), 0 * r], axis=1)


def unit(direction):
    if len(direction) == 2:
        l, m = direction
        return numpy.array([l, m, numpy.sqrt(1 - l * l - m * m)])
    return numpy.array(direction) / numpy.linalg.norm(direction)


def lead(positions, direction):
    """Seconds by which the stations receive a plane wave before the origin does."""
    return positions @ unit(direction) / LIGHT


def taps(part, phase=None):
    """The filter that delays by `part` of a sample; for a real stream it also has the phase."""
    u = numpy.arange(32) - 15 - part
    window = numpy.where(numpy.abs(u) < 16, numpy.i0(7 * numpy.sqrt(
        numpy.clip(1 - (u / 16) ** 2, 0, None))) / numpy.i0(7), 0)
    if phase is None:
        return window * numpy.sinc(u)
    small = numpy.abs(u) < 1e-9
    x = numpy.where(small, 1, u) * numpy.pi
    ideal = (numpy.sin(x - phase) + numpy.sin(phase)) / x
    return window * numpy.where(small, numpy.cos(phase), ideal)


def voltages(n, rate, frequency=0, n_subbands=1, n_stations=1, n_pols=1, step=None, start=0, seed=1,
             receivers=1, positions=None, sources=(), tones=(), real=False):
    """[time subband station pol] in double precision. `sources`: (direction, power, correlation);
    `tones`: (frequency, amplitude, phase, direction or None)."""
    t = numpy.arange(start, start + n)
    receivers = numpy.broadcast_to(receivers, n_stations)
    x = numpy.zeros((n, n_subbands, n_stations, n_pols), float if real else complex)
    for b in range(n_subbands):
        zero = frequency + b * (rate if step is None else step)
        for s in range(n_stations):
            for p in range(n_pols):
                lane = (b * n_stations + s) * n_pols + p
                x[:, b, s, p] = numpy.sqrt(receivers[s]) * noise(t, lane, RECEIVER, seed, real)
        for i, (direction, power, rho) in enumerate(sources):
            late = -lead(positions, direction) * rate
            whole = numpy.floor(late).astype(int)
            first, last = start - whole.max() - 16, start + n - whole.min() + 15
            z = [noise(numpy.arange(first, last), (i * n_subbands + b) * n_pols + p, SOURCE, seed,
                       real) for p in range(n_pols)]
            if n_pols > 1:
                z[1] = rho * z[0] + numpy.sqrt(1 - rho**2) * z[1]
            for s in range(n_stations):
                turn = 2 * numpy.pi * zero * late[s] / rate
                h = taps(late[s] - whole[s], turn if real else None)
                rotation = numpy.sqrt(power) * (1 if real else numpy.exp(-1j * turn))
                at = start - whole[s] + 15 - first
                for p in range(n_pols):
                    full = numpy.convolve(z[p], h)
                    x[:, b, s, p] += rotation * full[at:at + n]
        for f, amplitude, phase, direction in tones:
            turns = (f - zero) / rate
            if not (0 <= turns <= 0.5 if real else abs(turns) <= 0.5):
                continue
            late = lead(positions, direction) if direction is not None else numpy.zeros(n_stations)
            for s in range(n_stations):
                angle = 2 * numpy.pi * ((turns * t) % 1 + f * late[s]) + phase
                wave = amplitude * (numpy.cos(angle) if real else numpy.exp(1j * angle))
                x[:, b, s] += wave[:, None]
    return x
