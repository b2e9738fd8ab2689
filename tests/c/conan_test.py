"""The Conan recipe: `conan_test.py`. Makes the package out of this checkout and runs its test_package. Standard library only.

It builds all of tuff, so this is a test by hand (label long). Conan 2 is looked for on PATH, or is what TUFF_CONAN names.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from processes import expect, run  # noqa: E402


def main():
    conan = os.environ.get("TUFF_CONAN") or shutil.which("conan")
    if not conan:
        print("skipped: conan is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        home = dict(os.environ, CONAN_HOME=folder)
        run(conan, "profile", "detect", env=home)
        made = subprocess.run([conan, "create", SOURCE / "frontend/c/conan", "-c", f"tools.cmake.cmake_layout:test_folder={folder}/test"],
                              env=home, capture_output=True, text=True)
        told = made.stdout + made.stderr
        expect(made.returncode == 0 and "result 0 out0: f32[3, 5]" in told, told[-3000:])


if __name__ == "__main__":
    main()
