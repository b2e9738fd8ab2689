"""Packs the source distribution: `python make_sdist.py OUT_DIR` writes OUT_DIR/tuff-VERSION.tar.gz. Standard library and git.

`pip install` of it builds tuff by scikit-build-core with the system's compiler and libraries (./dev packages installs
those on Debian). What the package is called and needs is pyproject.toml's beside this; a wheel of a build that is there
is setup.py's.
"""
import gzip
import io
import pathlib
import re
import subprocess
import sys
import tarfile

from source_date import source_date

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROOMS = ["CMakeLists.txt", "LICENSE", "README.md", "backend", "frontend", "ir", "shaders"]
# A wheel holds no links: libraries go under the names that others ask for, their sonames.
BUILD = """[build-system]
requires = ["scikit-build-core>=0.10"]
build-backend = "scikit_build_core.build"

[tool.scikit-build]
minimum-version = "0.10"
cmake.version = ">=3.25"
cmake.build-type = ""
cmake.define.CMAKE_INSTALL_LIBDIR = "lib"
cmake.define.TUFF_UNITY = {env = "TUFF_UNITY", default = "ON"}
ninja.make-fallback = true
install.components = ["Unspecified", "bundled"]
install.strip = true
wheel.py-api = "py3"
wheel.packages = ["frontend/python/tuff", "frontend/python/jax_plugins"]
wheel.install-dir = "tuff/installed"
wheel.exclude = ["tuff/installed/lib/*.so.*.*", "tuff/installed/lib/*-linux-gnu",
                 "tuff/installed/lib/libtuff.so", "tuff/installed/share/**"]
"""


def project():
    """The [project] tables of pyproject.toml, with the README where it lies in the distribution."""
    text = (HERE / "pyproject.toml").read_text()
    tables = re.search(r"(?ms)^\[project\].*?(?=^\[tool\.)", text)[0]
    return tables.replace('readme = "README.md"', 'readme = "frontend/python/README.md"')


def metadata(tables):
    field = lambda name: re.search(rf'(?m)^{name} = "(.*)"', tables)[1]
    return (f"Metadata-Version: 2.1\nName: {field('name')}\nVersion: {field('version')}\n"
            f"Summary: {field('description')}\nRequires-Python: {field('requires-python')}\n"), field("version")


def tracked_files():
    """Those that git knows in ROOMS: a folder may hold builds and notes beside them."""
    try:
        told = subprocess.run(["git", "ls-files", "-z", *ROOMS], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        sys.exit("make_sdist.py packs the files that git knows, and git is not installed here.")
    except subprocess.CalledProcessError as error:
        sys.exit(f"make_sdist.py packs the files that git knows, and git says of {ROOT}: {error.stderr.strip()}")
    if not told:
        sys.exit(f"make_sdist.py packs the files that git knows, and it knows none of {ROOT}.")
    return sorted(filter(None, told.split("\0")))


def the_same_everywhere(entry, seconds):
    """A file of the archive without what is this machine's: its user, the time of the checkout, the bits of its umask."""
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = seconds, 0, 0, "", ""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def main(out):
    tables = project()
    info, version = metadata(tables)
    top = f"tuff-{version}"
    names = tracked_files()
    out.mkdir(parents=True, exist_ok=True)
    seconds = source_date()
    with gzip.GzipFile(out / f"{top}.tar.gz", "wb", mtime=seconds) as packed, tarfile.open(mode="w", fileobj=packed) as archive:
        for name in names:
            archive.add(ROOT / name, f"{top}/{name}", recursive=False, filter=lambda entry: the_same_everywhere(entry, seconds))
        for name, content in (("pyproject.toml", BUILD + "\n" + tables), ("PKG-INFO", info)):
            entry = the_same_everywhere(tarfile.TarInfo(f"{top}/{name}"), seconds)
            entry.size = len(content.encode())
            archive.addfile(entry, io.BytesIO(content.encode()))
    print(out / f"{top}.tar.gz")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
