# SPDX-License-Identifier: BSD-3-Clause
"""Makes wheels of the package, with the library and the plugins in them: for pip (PEP 517) and
scripts/wheel.

Settings: `folder`, of a build that is complete (without it, Cornerturn is built in build-wheel in the
source tree), and `carry`, with which the wheel also has the libraries that it needs beside the C
library."""
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# Those that every system has, of the compiler and the C library.
COMMON = re.compile(r"(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+)\.so\b.*")


def _run(*command):
    """Its output; what it says is shown if it fails."""
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}")
    return ran.stdout


# ---- what is in a wheel ----

def _build():
    """Builds Cornerturn, and returns the folder."""
    folder = ROOT / "build-wheel"
    if not (folder / "build.ninja").exists():
        _run("meson", "setup", folder, ROOT, "-Dtests=false", "--buildtype=release")
    _run("ninja", "-C", folder)
    return folder


def _needed(path):
    """Libraries that an object needs, with those that these need: names and paths."""
    found = {}
    for line in _run("ldd", path).splitlines():
        name, _, rest = line.strip().partition(" => ")
        if rest.startswith("not found"):
            sys.exit(f"{path} needs {name}, which is not found")
        if rest and not COMMON.fullmatch(name) and not name.startswith("libcornerturn"):
            found[name] = pathlib.Path(rest.split(" (")[0])
    return found


def _carry(target, objects):
    """Copies what the objects need into a folder, and has them look for it there; the names."""
    if not shutil.which("patchelf"):
        sys.exit("a wheel that carries its libraries wants the program patchelf, which is missing")
    target.mkdir()
    needed = {}
    for each in objects:
        needed.update(_needed(each))
    for name, path in needed.items():
        copied = pathlib.Path(shutil.copy(path.resolve(), target / name))
        copied.chmod(0o755)
        _run("patchelf", "--set-rpath", "$ORIGIN", copied)
    for each in objects:
        _run("patchelf", "--set-rpath", f"$ORIGIN/{os.path.relpath(target, each.parent)}", each)
    return sorted(needed)


def _collect(folder, package, libdir, soversion):
    """Puts the package, and what it needs of the installation, into a folder, which is the prefix of
    the library and the plugins; these."""
    shutil.copytree(HERE / "cornerturn", package, ignore=shutil.ignore_patterns("__pycache__"))
    with tempfile.TemporaryDirectory() as installed:
        _run("meson", "install", "-C", folder, "--no-rebuild", "--destdir", installed)
        prefix = next(pathlib.Path(installed).rglob(f"{libdir}/cornerturn")).parents[len(libdir.parts)]
        for name in libdir / "cornerturn" / "plugins", pathlib.Path("include"), pathlib.Path(
                "share", "cornerturn", "costs"):
            if (prefix / name).exists():
                shutil.copytree(prefix / name, package / name)
        library = package / libdir / f"libcornerturn.so.{soversion}"
        shutil.copy(prefix / libdir / library.name, library)
    objects = [library, *(package / libdir / "cornerturn" / "plugins").glob("*.so")]
    for each in objects:
        _run("strip", "--strip-unneeded", each)
        each.chmod(0o755)
    return objects


def _release(folder):
    """Version, soversion, and the folder of libraries from the prefix on."""
    version = json.loads(_run("meson", "introspect", folder, "--projectinfo"))["version"]
    core = (ROOT / "core" / "meson.build").read_text(encoding="utf-8")
    options = json.loads(_run("meson", "introspect", folder, "--buildoptions"))
    libdir = next(each["value"] for each in options if each["name"] == "libdir")
    return version, re.search(r"^soversion = '(.+)'", core, re.M)[1], pathlib.Path(libdir)


# ---- its metadata ----

def _has_fftw(folder):
    return any(each["name"] == "fftw3f" and each["version"] not in ("unknown", "none")
               for each in json.loads(_run("meson", "introspect", folder, "--dependencies")))


def _metadata(version, has_fftw, carried):
    licence = "BSD-3-Clause"
    text = "Graphs of Cornerturn on NumPy arrays, with the library and its plugins.\n"
    if has_fftw:
        licence = "BSD-3-Clause AND GPL-2.0-or-later"
        text += ("\nCornerturn itself is under the licence BSD-3-Clause. Its plugins in this wheel are linked with "
                 "FFTW, which is under the GNU General Public License: so the wheel as a whole is distributed under "
                 "the GPL.\n")
    text += ("\nThe wheel carries these libraries, each under its own licence: " + ", ".join(carried) + ".\n"
             if carried else
             "\nIt needs the libraries of the system with which it was built: GLib, JSON-GLib, libyaml, SQLite, and "
             "those of the plugins (FFTW, HDF5, CFITSIO, ERFA, hwloc, libxdp), as Debian 12 has them.\n")
    return (f"Metadata-Version: 2.1\nName: cornerturn\nVersion: {version}\n"
            "Summary: Dataflow graphs for radio telescopes\n"
            f"License: {licence}\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.22\n"
            f"Description-Content-Type: text/plain\n\n{text}")


def _tag():
    return f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _write(path, root):
    """The wheel of a folder, with a list of its files."""
    record = []
    info = next(root.glob("*.dist-info"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(file for file in root.rglob("*") if file.is_file()):
            name = each.relative_to(root).as_posix()
            digest = base64.urlsafe_b64encode(hashlib.sha256(each.read_bytes()).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{each.stat().st_size}")
            archive.write(each, name)
        archive.writestr(f"{info.name}/RECORD", "\n".join([*record, f"{info.name}/RECORD,,", ""]))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Makes the wheel, and returns its name."""
    del metadata_directory
    settings = config_settings or {}
    folder = pathlib.Path(settings["folder"]).absolute() if "folder" in settings else _build()
    version, soversion, libdir = _release(folder)
    with tempfile.TemporaryDirectory() as made:
        root = pathlib.Path(made)
        package = root / "cornerturn"
        objects = _collect(folder, package, libdir, soversion)
        carried = _carry(package / libdir / "needed", objects) if "carry" in settings else []
        text = (HERE / "release.py.in").read_text(encoding="utf-8")
        for key, value in ("VERSION", version), ("SOVERSION", soversion), ("LIBDIR", str(libdir)):
            text = text.replace(f"@{key}@", value)
        (package / "_release.py").write_text(text, encoding="utf-8")
        info = root / f"cornerturn-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(_metadata(version, _has_fftw(folder), carried), encoding="utf-8")
        (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: cornerturn\nRoot-Is-Purelib: false\n"
                                    f"Tag: {_tag()}\n", encoding="utf-8")
        shutil.copy(ROOT / "LICENSE", info)
        name = f"cornerturn-{version}-{_tag()}.whl"
        _write(pathlib.Path(wheel_directory, name), root)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("a wheel is built in the source tree of Cornerturn")
