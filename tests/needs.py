"""What a test may need that not every machine has: the one list of it, and how each need is found to be met.

A test that skips says why; the reason names its need by the words of a row below. skips.py lists the skips of a run
and finds fault with one whose need was met, and with a reason that no row knows. Standard library only.
"""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess


class Machine:
    """This machine and the build folder of the run. What costs time is looked at once, when it is asked for."""

    def __init__(self, build):
        self.build = pathlib.Path(build)

    @functools.cached_property
    def options(self):
        """CMake's variables."""
        cache = self.build / "CMakeCache.txt"
        lines = cache.read_text().splitlines() if cache.exists() else []
        return dict(re.match(r"([^:#]+):\w+=(.*)", line).groups() for line in lines if re.match(r"[^:#/]+:\w+=", line))

    def has_option(self, name):
        value = self.options.get(name, "")
        return bool(value) and value != "0" and not value.endswith("NOTFOUND")

    @functools.cached_property
    def vulkan_devices(self):
        try:
            listed = subprocess.run([self.build / "tuff", "devices", "--json"], capture_output=True, text=True, timeout=300)
            devices = json.loads(listed.stdout)["devices"]
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
            return []
        return [d for d in devices if d["id"].startswith("vulkan") and d["usable"]]

    @functools.cached_property
    def processor(self):
        info = pathlib.Path("/proc/cpuinfo")
        return info.read_text() if info.exists() else ""

    @functools.cached_property
    def python(self):
        """The Python of the tests that import packages."""
        return self.options.get("TUFF_JAX_PYTHON") or os.environ.get("TUFF_JAX_PYTHON") or shutil.which("python3")

    def imports(self, *packages):
        command = [self.python, "-c", "; ".join(f"import {package}" for package in packages)]
        return subprocess.run(command, capture_output=True).returncode == 0

    @functools.cached_property
    def library_tests(self):
        return os.environ.get("TUFF_LIBRARY_TESTS", "")

    @functools.cached_property
    def conformance(self):
        folder = os.environ.get("TUFF_CONFORMANCE")
        return bool(folder) and (pathlib.Path(folder) / "stablehlo" / "manifest.json").exists()

    @functools.cached_property
    def validation_layer(self):
        folders = ["/usr/share/vulkan", "/etc/vulkan", "/usr/local/share/vulkan"]
        return any((pathlib.Path(folder) / "explicit_layer.d" / "VkLayer_khronos_validation.json").exists() for folder in folders)


def packages_of(reason):
    """The packages that a reason names."""
    return re.findall(r"\b(jax|flax|optax|axe_playwright_python|pypjrt|torch|transformers|onnx|numpy|ml_dtypes|setuptools|wheel)\b", reason.lower()) or ["jax"]


# Name, the words of a reason (the first row that matches counts), whether the machine has it.
NEEDS = [
    ("validation layer", r"no validation layer", lambda m, r: bool(m.vulkan_devices) and m.validation_layer),
    ("Vulkan device", r"Vulkan (device|driver|loader)|FAILED_PRECONDITION",
     lambda m, r: bool(m.vulkan_devices)),
    ("cooperative matrices", r"no cooperative matrices|no matrices of",
     lambda m, r: any(d["matrices"] for d in m.vulkan_devices) and "no matrices of" not in r),
    ("a feature of the device", r"no bufferDeviceAddress|it is no lie|of types the device lacks", lambda m, r: False),
    ("another release of JAX", r"TUFF_JAX_PYTHONS", lambda m, r: bool(os.environ.get("TUFF_JAX_PYTHONS"))),
    ("checkouts of libraries", r"TUFF_LIBRARY_TESTS",
     lambda m, r: bool(m.library_tests) and (pathlib.Path(m.library_tests) / r.split()[-1]).is_dir()),
    ("Python packages", r"this Python has no|not installed: |ModuleNotFoundError", lambda m, r: m.imports(*packages_of(r))),
    ("conformance suites", r"TUFF_CONFORMANCE|no unpacked cases", lambda m, r: m.conformance),
    ("AMX", r"no AMX", lambda m, r: "amx_bf16" in m.processor and m.has_option("TUFF_COMPILER_HAS_AMX")),
    ("AVX-512", r"no AVX-512", lambda m, r: "avx512f" in m.processor),
    ("oneDNN", r"no library in this build", lambda m, r: m.has_option("dnnl_DIR")),
    ("GLSL compiler and validator", r"glslangValidator",
     lambda m, r: m.has_option("GLSLANG_VALIDATOR") and m.has_option("SPIRV_VAL")),
    ("Chromium", r"Chromium", lambda m, r: any(map(shutil.which, ["chromium", "chromium-browser", "google-chrome", "chrome"]))),
    ("rpmbuild", r"(rpmbuild|rpm2cpio|cpio) is not installed", lambda m, r: all(map(shutil.which, ("rpmbuild", "rpm2cpio", "cpio")))),
    ("Conan", r"conan is not installed", lambda m, r: shutil.which("conan") is not None),
    ("a root folder of Debian", r"no debootstrap|mirror of Debian",
     lambda m, r: "no debootstrap" in r and shutil.which("debootstrap") is not None),
    ("drivers of GPUs", r"no driver of", lambda m, r: False),
    ("an engine between processes", r"libtuff_(gloo|ucx)\.so",
     lambda m, r: m.has_option(("UCX" if "ucx" in r else "GLOO") + "_INCLUDE_DIR")),
    ("mpirun", r"no mpirun", lambda m, r: shutil.which("mpirun") is not None),
    ("file descriptors of processes", r"no file descriptors of processes", lambda m, r: False),
    ("root", r"only root|need root", lambda m, r: os.geteuid() == 0),
    ("two processors", r"one processor", lambda m, r: len(os.sched_getaffinity(0)) > 1),
]


def find_need(reason):
    """The row that a reason names, or None."""
    return next((need for need in NEEDS if re.search(need[1], reason)), None)
