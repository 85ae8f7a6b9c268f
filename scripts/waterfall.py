#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/waterfall.py ARRAY PICTURE [AXIS=INDEX …]

Draws power over time and frequency from a file of file.sink or sigproc.sink (.npy, .raw, .fil or
.tim, of real samples of at least 8 bits) with the PATH.json beside it, and the spectrum averaged over time: decibels over its median. Invalid
samples, which are 0, stay blank. Of every other axis, element 0 is drawn, or the one that is given:
stokes=1. PICTURE ends in .png or .svg. Needs the Debian package python3-matplotlib."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # pylint: disable=wrong-import-position
import numpy as np  # pylint: disable=wrong-import-position

ENDINGS = (".npy", ".raw", ".fil", ".tim")
TYPES = {"f32": "<f4", "f64": "<f8", "u8": "u1", "i8": "i1", "i16": "<i2", "u32": "<u4"}


def read(path, indices):
    """Samples [time channel] with NaN where there are none, the axes of both, the description."""
    if not path.endswith(ENDINGS):
        sys.exit(f"{path}: wants a file of file.sink or sigproc.sink ({', '.join(ENDINGS)})")
    try:
        with open(f"{path}.json", encoding="utf-8") as text:
            described = json.load(text)
    except OSError as error:
        sys.exit(f"{path}.json: can't be opened: {error.strerror}. Only files that Cornerturn wrote can be "
                 "drawn; sigproc.source and sigproc.sink copy others")
    kind, names = described["layout"].rstrip("]").split("[")
    names = names.split()
    if kind not in TYPES or len(set(names)) < len(names):
        sys.exit(f"{path}: wants real samples in an unblocked layout, but is given "
                 f"{described['layout']}")
    axes = {axis["name"]: axis for axis in described["axes"]}
    if not {"time", "channel"} <= axes.keys():
        sys.exit(f"{path}: wants the axes time and channel, but is given {' '.join(names)}")
    shape = [axes[name]["length"] for name in names]
    n_samples = int(np.prod(shape))
    n_bytes = n_samples * np.dtype(TYPES[kind]).itemsize
    with open(path, "rb") as file:
        bytes_ = file.read()
    if n_bytes > len(bytes_) or len(bytes_) != described["bytes"]:
        sys.exit(f"{path}: wants whole bytes for a sample, and the {described['bytes']} bytes of PATH.json, "
                 f"but has {len(bytes_)}")
    array = np.frombuffer(bytes_[-n_bytes:], TYPES[kind]).reshape(shape)
    place = tuple(slice(None) if name in ("time", "channel") else indices.get(name, 0)
                  for name in names)
    array = array[place] if names.index("time") < names.index("channel") else array[place].T
    return np.where(array > 0, array, np.nan), axes["time"], axes["channel"], described


def edges(axis):
    """The outer edges of the first and the last element."""
    first, step, n = axis.get("first", 0), axis.get("step", 1), axis["length"]
    return first - step / 2, first + (n - 0.5) * step


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path, picture = sys.argv[1:3]
    indices = {name: int(index) for name, index in (text.split("=") for text in sys.argv[3:])}
    power, time, channel, described = read(path, indices)
    decibels = 10 * np.log10(power / np.nanmedian(power))
    low, high = np.nanpercentile(decibels, [1, 99.5])
    begin, end = edges({**time, "first": time.get("step", 1) / 2})
    bottom, top = np.array(edges(channel)) / 1e6

    figure, (spectrum, waterfall) = plt.subplots(
        1, 2, sharey=True, figsize=(9, 4.5), width_ratios=[1, 3], layout="constrained")
    frequencies = (channel["first"] + channel["step"] * np.arange(channel["length"])) / 1e6
    spectrum.plot(10 * np.log10(np.nanmean(power, 0) / np.nanmedian(power)), frequencies, lw=0.7)
    spectrum.set(xlabel="mean power, dB", ylabel="frequency, MHz")
    image = waterfall.imshow(decibels.T, aspect="auto", origin="lower", interpolation="nearest",
                             extent=(begin * 1e3, end * 1e3, bottom, top), vmin=low, vmax=high)
    waterfall.set(xlabel=f"time, ms, from {described.get('start_utc', 'the first sample')}",
                  ylim=(min(bottom, top), max(bottom, top)))
    figure.colorbar(image, label="power, dB")
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main()
