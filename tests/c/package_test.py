"""The installed package as an application meets it: `package_test.py BUILD`. Standard library only.

Installs the build into a prefix, moves that elsewhere (a package may be unpacked anywhere), builds the examples of
frontend/c against it by find_package, and one by pkg-config, and runs them.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from onnx_file import onnx_model  # noqa: E402
from processes import expect, run  # noqa: E402

EXAMPLES = SOURCE / "frontend/c/examples"


def install(build, folder):
    run("cmake", "--install", build, "--prefix", folder / "installed", "--strip")
    prefix = folder / "moved"
    shutil.move(folder / "installed", prefix)
    return prefix


def check_paths(prefix):
    """What is installed says nothing about where it was built."""
    for path in sorted(path for path in prefix.rglob("*") if path.is_file()):
        expect(str(SOURCE).encode() not in path.read_bytes(), f"{path} names {SOURCE}")


def check_archive(build, folder):
    """What the portable archive carries of the sources has nothing of what pip leaves among them."""
    left = SOURCE / f"frontend/python/build/left_{os.getpid()}"
    left.parent.mkdir(exist_ok=True)
    left.touch()
    try:
        run("cmake", "--install", build, "--prefix", folder / "archive", "--component", "check")
    finally:
        left.unlink()
        if not any(left.parent.iterdir()):
            left.parent.rmdir()
    share = folder / "archive/share/tuff"
    carried = [str(path.relative_to(share)) for path in share.rglob("*")]
    expect(not [path for path in carried if re.search(r"python/build|egg-info|__pycache__", path)], "\n".join(carried))
    needed = {"README.md", "bench/workloads", "frontend/python/tuff", "tests/models/mlp", "tests/ops", "tests/tolerances.py",
              "ir/evaluate/tolerances.def"}
    expect(needed <= set(carried), "\n".join(carried))


def check_examples(prefix, folder):
    built = folder / "examples"
    warnings = "-Wall -Wextra -Wpedantic -Werror"
    run("cmake", "-S", EXAMPLES, "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_FLAGS={warnings}",
        f"-DCMAKE_CXX_FLAGS={warnings}")
    run("cmake", "--build", built, "-j", os.cpu_count())
    told = run(built / "run_bundle", SOURCE / "tests/models/mlp", "cpu")
    expect("result 0 out0: f32[3, 5]" in told, told)
    (folder / "model.onnx").write_bytes(onnx_model("Relu", ["x"]))
    told = run(built / "run_bundle", folder / "model.onnx", "cpu")
    expect("result 0 y: f32[3] 0 " in told, told)
    told = run(built / "train_mlp", "cpu")
    expect("step 1000" in told, told)
    told = run(built / "server", "cpu")
    expect("8000 requests answered, 0 wrong" in told, told)
    check_shared_buffer(built / "share_buffer")
    wrong = subprocess.run([built / "run_bundle", "no_such_model", "cpu"], capture_output=True, text=True)
    expect(wrong.returncode == 10 and "no_such_model" in wrong.stderr, wrong.stderr)


def check_shared_buffer(program):
    """On a Vulkan device of the example's own, each of whose calls the validation layer looks at."""
    watched = dict(os.environ, VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation", TUFF_VALIDATION="0")
    done = subprocess.run([program], capture_output=True, text=True, env=watched)
    told = done.stdout + done.stderr
    if "VkResult -6" in told:
        print("the validation layer is not installed here; share_buffer runs without")
        done = subprocess.run([program], capture_output=True, text=True)
        told = done.stdout + done.stderr
    if "VkResult" in told:
        print(f"no Vulkan device: {told.strip()}")
        return
    expect(done.returncode == 0 and "1000 elements" in told and "0 wrong" in told and "alidation" not in told
           and ":" in told and "(0000:" not in told, told)


def check_pkg_config(prefix, folder):
    where = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    flags = run("pkg-config", "--cflags", "--libs", "tuff", env=where).split()
    program = folder / "by_pkg_config"
    run("cc", "-std=c99", EXAMPLES / "run_bundle.c", "-o", program, *flags, f"-Wl,-rpath,{prefix / 'lib'}")
    expect("result 0" in run(program, SOURCE / "tests/models/mlp", "cpu"), "run_bundle by pkg-config")


def check_guide(prefix, folder):
    """The guide's first program, as it stands there."""
    program = re.search(r"^```cpp\n(.*?)^```", (SOURCE / "frontend/c/README.md").read_text(), re.S | re.M)[1]
    headers = re.findall(r"^#include.*\n", program, re.M)
    body = re.sub(r"^#include.*\n", "", program, flags=re.M)
    (folder / "main.cpp").write_text(f"{''.join(headers)}int main() {{{body}return y.size() == 3 && y[2] == 6 ? 0 : 1; }}\n")
    (folder / "model.mlir").write_text("""func.func public @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %0 = stablehlo.add %x, %x : tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
""")
    where = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    command = f"c++ -std=c++17 main.cpp $(pkg-config --cflags --libs tuff) -o main -Wl,-rpath,{prefix}/lib && ./main"
    run("sh", "-c", command, env=where, cwd=folder)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prefix = install(pathlib.Path(sys.argv[1]), folder)
        check_paths(prefix)
        check_archive(pathlib.Path(sys.argv[1]), folder)
        expect("cpu" in run(prefix / "bin/tuff", "devices"), "tuff devices")
        told = run(prefix / "bin/tuff", "bench", SOURCE / "tests/models/mlp", "--device", "cpu", "--modes", "cold", "--rounds", "1",
                   "--burst-ms", "10")
        expect("tuff:cpu" in told, told)
        check_examples(prefix, folder)
        if shutil.which("pkg-config"):
            check_pkg_config(prefix, folder)
            check_guide(prefix, folder)
        else:
            print("pkg-config is not installed here; its file and the guide's program are not tried")


if __name__ == "__main__":
    main()
