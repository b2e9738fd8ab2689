"""The same sources make the same packages: `reproducible_test.py [FOLDER]`. Standard library and git.

Two clones of this checkout's last commit, in folders of other names, are built without a compiler cache; the archive,
the wheel and the source distribution of both must be the same bytes. FOLDER keeps the clones (default: a temporary one).
An hour on two cores. 77: skipped.
"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests"))
from processes import expect, run  # noqa: E402


def made_in(clone):
    """The packages of a clone, by name."""
    if not clone.exists():
        run("git", "clone", "-q", SOURCE, clone)
    alone = {**os.environ, "CCACHE_DISABLE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    run("./dev", "portable", cwd=clone, env=alone)
    out = clone / "build/packages"
    run(sys.executable, "-m", "venv", clone / "build/venv")
    python = clone / "build/venv/bin/python"
    run(python, "-m", "pip", "install", "-q", "setuptools", "wheel")
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", out, clone / "frontend/python", env=alone)
    run(python, clone / "frontend/python/make_sdist.py", out)
    return {path.name: path for path in [*out.iterdir(), *(clone / "build").glob("tuff-*.tar.xz")]}


def members(path):
    """{name: hash} of a package's files."""
    def digest(file):
        return hashlib.sha256(file.read()).hexdigest()
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as packed:
            return {name: digest(packed.open(name)) for name in packed.namelist()}
    with tarfile.open(path) as packed:
        return {entry.name: digest(packed.extractfile(entry)) for entry in packed if entry.isfile()}


def main():
    if not (SOURCE / ".git").exists():
        print("skipped: this is no git checkout")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        one, other = made_in(folder / "one"), made_in(folder / "another_folder")
        expect(len(one) == 3 and one.keys() == other.keys(), f"{sorted(one)} and {sorted(other)}")
        for name in sorted(one):
            if one[name].read_bytes() == other[name].read_bytes():
                print(f"the same: {name}")
                continue
            here, there = members(one[name]), members(other[name])
            differ = sorted(part for part in here.keys() | there.keys() if here.get(part) != there.get(part))
            expect(False, f"{name} differs: {', '.join(differ) or 'in its order, times or modes'}")


if __name__ == "__main__":
    main()
