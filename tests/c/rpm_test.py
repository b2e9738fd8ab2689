"""The .rpm: `rpm_test.py BUILD`. Makes it, looks at what it needs and holds, and uses what is unpacked. Standard library only."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from processes import expect, run  # noqa: E402

# Directories that other packages own.
SHARED = ["/usr/bin", "/usr/include", "/usr/lib", "/usr/lib/cmake", "/usr/lib/pkgconfig", "/usr/share/man", "/usr/share/man/man1",
          "/usr/share/bash-completion/completions", "/usr/share/fish/vendor_completions.d", "/usr/share/zsh"]


def main():
    for program in ("rpmbuild", "rpm2cpio", "cpio"):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            sys.exit(77)
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run("cpack", "-G", "RPM", "-B", folder, cwd=build)
        package, = folder.glob("tuff-*.rpm")
        files = set(run("rpm", "-qpl", package).split())
        for name in ("bin/tuff", "include/tuff.h", "include/tuff.hpp", "share/man/man1/tuff.1", "share/doc/tuff/LICENSE"):
            expect(f"/usr/{name}" in files, f"{name} is in {sorted(files)}")
        expect(not files.intersection(SHARED), f"it owns {files.intersection(SHARED)}")
        needs = run("rpm", "-qpR", package)
        expect("libc.so.6" in needs and "libfmt.so" in needs and "vulkan" not in needs, f"it needs {needs}")
        expect("vulkan-loader" in run("rpm", "-qp", "--recommends", package), "it recommends the Vulkan loader")
        unpacked = subprocess.run(f"rpm2cpio {package} | cpio -idm --quiet", shell=True, cwd=folder, capture_output=True, text=True)
        expect(unpacked.returncode == 0, unpacked.stderr)
        expect("cpu" in run(folder / "usr/bin/tuff", "devices"), "tuff devices")
        run("cmake", "-S", SOURCE / "frontend/c/examples", "-B", folder / "examples", f"-DCMAKE_PREFIX_PATH={folder}/usr")
        run("cmake", "--build", folder / "examples", "--target", "run_bundle")
        told = run(folder / "examples/run_bundle", SOURCE / "tests/models/mlp", "cpu")
        expect("result 0 out0: f32[3, 5]" in told, told)


if __name__ == "__main__":
    main()
