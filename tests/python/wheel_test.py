"""The wheel, installed where there is no checkout: `wheel_test.py BUILD`. Its libraries, command and plugin are inside."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy  # noqa: F401
    import setuptools  # noqa: F401
    import wheel  # noqa: F401
except ImportError as error:
    print(f"skipped: this Python has no {error.name}")
    sys.exit(77)

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from processes import expect, run  # noqa: E402

LIMIT = 40_000_000
USE = """
import numpy as np, pathlib, tuff, tuff.library, jax_plugins.tuff as plugin
assert "installed" in str(tuff.library.library_path()), tuff.library.library_path()
assert "installed" in str(plugin.library_path()), plugin.library_path()
program = tuff.load(r"{model}", device="cpu")
print(program(*[np.ones(a.shape, a.dtype) for a in program.arguments if not a.is_bound]).shape)
"""


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        source = folder / "source"  # pip leaves files where it builds
        run("cp", "-r", SOURCE / "frontend/python", source)
        unbuilt = subprocess.run([*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source],
                                 capture_output=True, text=True, env=dict(os.environ, TUFF_BUILD=str(folder)))
        expect(unbuilt.returncode != 0 and "is not built" in unbuilt.stderr, unbuilt.stderr)
        for path, words in ((os.environ["PATH"], "git says of"), ("", "git is not installed")):  # no checkout; no git
            unpacked = subprocess.run([sys.executable, source / "make_sdist.py", folder / "sdist"], capture_output=True,
                                      text=True, env=dict(os.environ, PATH=path))
            expect(unpacked.returncode == 1 and unpacked.stderr.startswith("make_sdist.py packs") and words in unpacked.stderr,
                   unpacked.stderr)
        run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source,
            env=dict(os.environ, TUFF_BUILD=str(build)))
        made, = folder.glob("*.whl")
        expect(made.stat().st_size <= LIMIT, f"{made.name} has {made.stat().st_size} bytes")
        site = folder / "site"
        run(*pip, "install", "-q", "--no-deps", "--target", site, made)
        where = {name: value for name, value in os.environ.items() if not name.startswith("TUFF_")}
        where["PYTHONPATH"] = str(site)
        bill = json.loads(next(site.glob("tuff-*.dist-info/sboms/tuff.spdx.json")).read_text())
        listed = {file["fileName"] for file in bill["files"]}
        carried = {"./" + str(path.relative_to(site)) for path in (site / "tuff/installed").rglob("*") if path.is_file()}
        expect(carried <= listed, f"the bill of materials lacks {carried - listed}")
        packages = " ".join(package["name"] for package in bill["packages"])
        expect("libfmt" in packages or not shutil.which("dpkg-query"), f"the bill of materials has no libfmt: {packages}")
        told = run(sys.executable, "-c", USE.format(model=SOURCE / "tests/models/mlp"), env=where, cwd=folder)
        expect(told.strip() == "(3, 5)", told)
        expect("cpu" in run(sys.executable, "-m", "tuff", "devices", env=where, cwd=folder), "python -m tuff devices")
        expect("cpu" in run(site / "bin/tuff", "devices", env=where, cwd=folder), "the command tuff")


if __name__ == "__main__":
    main()
