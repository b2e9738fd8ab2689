"""Builds the wheel of an installed tuff: the command, libtuff, the PJRT plugin and the libraries they need go along.

They come from a build folder: the one that TUFF_BUILD names, else the checkout's build/. Without one the installation
fails: a package without its libraries could only fail later. pip builds outside of the checkout where it likes to, so
the folder is looked for from here.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import zlib

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from source_date import source_date  # noqa: E402

BUILD = pathlib.Path(os.environ.get("TUFF_BUILD") or HERE.parents[1] / "build")
# What has to be there: the package is of no use without.
NEEDED = ["tuff", "libtuff.so", "libpjrt_tuff.so"]


def require_build():
    missing = [name for name in NEEDED if not (BUILD / name).is_file()]
    if missing:
        sys.exit(f"tuff is not built in {BUILD} (no {', '.join(missing)}). Build it first (cmake -S . -B build -G Ninja "
                 "&& cmake --build build), or set TUFF_BUILD to the folder of another build.")


def flatten(folder):
    """A wheel holds no links: each library is left under the name that others ask for, its soname."""
    for library in [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]:
        links = [path for path in folder.iterdir() if path.is_symlink() and path.resolve() == library]
        sonames = [path for path in links if path.suffix[1:].isdigit()]
        for link in links:
            link.unlink()
        if sonames:
            library.rename(sonames[0])


def install_build(prefix):
    """The build's files as they are installed: bin/ and lib/, with the libraries that other machines may lack."""
    for component in ("Unspecified", "bundled", "ranks"):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--strip", "--component", component], check=True,
                       stdout=subprocess.DEVNULL)
    shutil.rmtree(prefix / "share", ignore_errors=True)
    flatten(prefix / "lib")


class BuildWithLibraries(build_py):
    def run(self):
        require_build()
        super().run()
        if not self.editable_mode:
            prefix = pathlib.Path(self.build_lib).resolve() / "tuff" / "installed"
            shutil.rmtree(prefix, ignore_errors=True)
            install_build(prefix)


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


class TuffWheel:
    """Every Python 3: libtuff is called by ctypes, the plugin by JAX's C API; neither is an extension module. The bill
    of materials goes where PEP 770 has it, with the licences of the libraries that go along."""

    def get_tag(self):
        _, _, platform = super().get_tag()
        return "py3", "none", platform

    def write_wheelfile(self, distinfo, *more, **named):  # the rest of the wheel is there by then
        super().write_wheelfile(distinfo, *more, **named)
        sboms, licenses = (pathlib.Path(distinfo, name) for name in ("sboms", "licenses"))
        sboms.mkdir(exist_ok=True)
        with open(sboms / "tuff.spdx.json", "w") as bill:
            subprocess.run([sys.executable, "-B", HERE / "sbom.py", BUILD, pathlib.Path(self.bdist_dir), "--licenses", licenses],
                           check=True, stdout=bill)


def wheel_command():
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:
        from wheel.bdist_wheel import bdist_wheel
    return type("BuildTuffWheel", (TuffWheel, bdist_wheel), {})


os.environ["SOURCE_DATE_EPOCH"] = str(source_date())  # the times of the wheel's files
# What zipfile compresses by where nobody says: half a per cent is 200,000 bytes here, and a wheel has 40 million at most.
zlib.Z_DEFAULT_COMPRESSION = zlib.Z_BEST_COMPRESSION
setup(cmdclass={"build_py": BuildWithLibraries, "bdist_wheel": wheel_command()}, distclass=PlatformDistribution)
