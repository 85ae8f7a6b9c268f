# SPDX-License-Identifier: BSD-3-Clause
"""The times at which stations receive a wavefront, by astropy."""
import json

import numpy as np

import oracles

# Solves when a wavefront arrives, in a frame that moves with the Earth: the direction of the source
# by the deflection of light and the exact aberration of the special theory of relativity, positions
# and velocities of stations by astropy. Saves delays [source time station].
ORACLE = """
import json, os, sys
os.environ.pop("XDG_CACHE_HOME", None)
os.environ.pop("XDG_CONFIG_HOME", None)
import numpy as np
from astropy import constants, units
from astropy.coordinates import AltAz, Angle, EarthLocation, SkyCoord, get_body_barycentric_posvel
from astropy.time import Time, TimeDelta
from astropy.utils import iers
iers.conf.auto_download = False
given = json.loads(sys.argv[1])
iers.earth_orientation_table.set(iers.IERS_A.open(given["table"]))
c = constants.c.value
times = Time(given["start"], scale="utc") + TimeDelta(np.array(given["seconds"]), format="sec")
reference = EarthLocation.from_geodetic(*given["place"], 0)
lon, lat = np.array(reference.geodetic.lon.rad), np.array(reference.geodetic.lat.rad)
east = np.array([-np.sin(lon), np.cos(lon), 0])
up = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
north = np.cross(up, east)
origin = np.array([reference.x.value, reference.y.value, reference.z.value])
offsets = np.array(given["enu"]) @ np.array([east, north, up])
def place(xyz):
    found = EarthLocation.from_geocentric(*xyz, unit="m").get_gcrs_posvel(times)
    return [part.xyz.to_value(unit).T for part, unit in zip(found, ("m", "m/s"))]
earth = get_body_barycentric_posvel("earth", times, ephemeris="builtin")
sun = get_body_barycentric_posvel("sun", times, ephemeris="builtin")
V = earth[1].xyz.to_value("m/s").T / c
away = (earth[0] - sun[0]).xyz.to_value("m").T
distance = np.linalg.norm(away, axis=1, keepdims=True)
away = away / distance
dot = lambda a, b: np.sum(a * b, axis=-1, keepdims=True)
r0, _ = place(origin)
stations = [place(origin + offset) for offset in offsets]
delays, topocentric = [], []
for ra, dec in given["sources"]:
    ra, dec = Angle(ra, "hour").rad, Angle(dec, "deg").rad
    K = np.array([[np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)]])
    bend = 2 * constants.GM_sun.value / c**2 / distance
    K = K + bend * (away - dot(K, away) * K) / (1 + dot(K, away))
    K = K / np.linalg.norm(K, axis=1, keepdims=True)
    gamma = 1 / np.sqrt(1 - dot(V, V))
    n = (K / gamma + V * (1 + dot(K, V) * gamma / (1 + gamma))) / (1 + dot(K, V))
    delays.append([(dot(n, r - r0) / c / (1 + dot(n, w) / c))[:, 0] for r, w in stations])
    if given["topocentric"]:
        at = SkyCoord(ra * units.rad, dec * units.rad, frame="icrs").transform_to(
            AltAz(obstime=times, location=reference))
        s = np.array([np.cos(at.alt) * np.sin(at.az), np.cos(at.alt) * np.cos(at.az), np.sin(at.alt)])
        topocentric.append(np.array(given["enu"]) @ s / c)
pole = iers.earth_orientation_table.get().pm_xy(times[0])
np.savez(given["to"], delays=np.moveaxis(np.array(delays), 1, 2),
         topocentric=np.array(topocentric), dut1=times[0].delta_ut1_utc,
         pole=[part.to_value("arcsec") for part in pole])
"""


def find(test, table, start, seconds, place, enu, sources, topocentric=False):
    """By names: delays [source time station], of which the station is nearer to the source than the
    place, at these seconds after the start; UT1 - UTC and the pole, in seconds of arc, at the first.
    Sources are pairs of hours, and of degrees; the place is a longitude and a latitude in degrees."""
    to = test.folder / "delays.npz"
    oracles.run(test, oracles.PYUVDATA, ORACLE, json.dumps(
        {"table": str(table), "start": start, "seconds": list(map(float, seconds)), "place": place,
         "enu": enu, "sources": sources, "to": str(to), "topocentric": topocentric}))
    return np.load(to)
