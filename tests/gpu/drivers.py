"""Vulkan drivers of other machines' GPUs, unpacked into a folder: python3 drivers.py FOLDER

Mesa compiles shaders for a GPU that is not there: a shim, preloaded, answers for the kernel's driver. Debian has
drivers and most shims as packages. They are unpacked, not installed, with the C library they were built with, so that
they run on any host. Intel's shim is in no package; it is built from Mesa's source where meson's needs are installed
(bison, flex, libdrm-dev, pkg-config, zlib1g-dev). Two Mesas: that of Debian 13 and the newer one of its backports.
"""
import json
import os
import pathlib
import subprocess
import sys

SUITES = {"stable": ["trixie"], "newer": ["trixie", "trixie-backports"]}
LIBRARIES = "usr/lib/x86_64-linux-gnu"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ["mesa-vulkan-drivers", "mesa-drm-shim", "vulkan-validationlayers", "libvulkan1", "libstdc++6", "zlib1g"]
INTEL_SHIM = "libintel_noop_drm_shim.so"
# What a shim offers as a GPU's memory is a sparse file: more of it costs nothing.
SHIM_MEMORY = ("#define SHIM_MEM_SIZE (4ull * 1024", "#define SHIM_MEM_SIZE (64ull * 1024")

# target: driver, shim, the variable that names the chip, the chip, the Mesas that have it
TARGETS = {
    "polaris10": ("radeon", "amdgpu", "AMDGPU_GPU_ID", "polaris10", ("stable", "newer")),
    "vega10": ("radeon", "amdgpu", "AMDGPU_GPU_ID", "vega10", ("stable", "newer")),
    "navi21": ("radeon", "amdgpu", "AMDGPU_GPU_ID", "navi21", ("stable", "newer")),
    "navi31": ("radeon", "amdgpu", "AMDGPU_GPU_ID", "navi31", ("stable", "newer")),
    "gfx1201": ("radeon", "amdgpu", "AMDGPU_GPU_ID", "gfx1201", ("newer",)),
    "dg2": ("intel", "intel", "INTEL_STUB_GPU_PLATFORM", "dg2", ("stable", "newer")),
    "bmg": ("intel", "intel", "INTEL_STUB_GPU_PLATFORM", "bmg", ("stable", "newer")),
    "nv172": ("nouveau", "nouveau", "NOUVEAU_CHIPSET", "172", ("newer",)),
    "a740": ("freedreno", "freedreno", "FD_GPU_ID", "740", ("newer",)),
}


class Missing(Exception):
    """A target whose driver cannot be had here; the text says why."""


def mirror():
    """The mirror that this machine's own apt uses."""
    found = subprocess.run([pathlib.Path(__file__).parents[2] / ".ci/debian_mirror"], capture_output=True, text=True)
    if found.returncode != 0:
        raise Missing("this machine's apt sources name no Debian mirror")
    return found.stdout.strip()


class Apt:
    """apt over suites of its own: nothing of the machine's state is read or changed."""

    def __init__(self, folder, suites):
        self.folder = folder
        for part in ("lists/partial", "archives/partial", "parts"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "parts/suites.sources").write_text(
            f"Types: deb deb-src\nURIs: {mirror()}\nSuites: {' '.join(suites)}\nComponents: main\nSigned-By: {KEYS}\n")
        self.options = [f"-o{name}={value}" for name, value in (
            ("Dir::Etc::SourceList", "/dev/null"), ("Dir::Etc::SourceParts", folder / "parts"),
            ("Dir::State::Lists", folder / "lists"), ("Dir::State::status", folder / "status"),
            ("Dir::Cache::archives", folder / "archives"), ("Dir::Cache::pkgcache", ""),
            ("Dir::Cache::srcpkgcache", ""), ("APT::Sandbox::User", "root"))]

    def run(self, *words, check=True):
        done = subprocess.run(["apt-get", *self.options, "-qq", *words], cwd=self.folder, text=True,
                              capture_output=True)
        if check and done.returncode != 0:
            raise Missing(f"apt-get {words[0]} failed: {done.stderr.strip()[-300:]}")


def unpack(folder, mesa):
    """A root with this Mesa's drivers, shims and all libraries that they need."""
    root = folder / mesa / "root"
    complete = root / "complete"
    if complete.exists() and complete.read_text() == " ".join(PACKAGES):
        return root
    suites = SUITES[mesa]
    apt = Apt(folder / mesa, suites)
    apt.run("update")
    apt.run("install", "--download-only", "--no-install-recommends", "-y", "-t", suites[-1], *PACKAGES)
    for package in sorted((folder / mesa / "archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, root], check=True)
    complete.write_text(" ".join(PACKAGES))
    return root


def build_intel_shim(folder):
    """That of Mesa's stable source, which serves the newer driver, too; with 64 GiB, so that large programs fit."""
    shim = folder / f"64GiB_{INTEL_SHIM}"
    if shim.exists():
        return shim
    source = folder / "source"
    apt = Apt(source, SUITES["stable"])
    apt.run("update")
    apt.run("source", "--download-only", "mesa", check=False)  # the tarball is enough
    tarballs = sorted(source.glob("mesa_*.orig.tar.*z"))
    if not tarballs:
        raise Missing("apt has no source of mesa")
    for tool in ("bison", "flex", "pkg-config", "cc"):
        if subprocess.run(["which", tool], capture_output=True).returncode != 0:
            raise Missing(f"building Intel's shim needs {tool}")
    tree = source / "mesa"
    tree.mkdir(exist_ok=True)
    subprocess.run(["tar", "-xf", tarballs[-1], "-C", tree, "--strip-components=1"], check=True)
    device = tree / "src/drm-shim/device.c"
    device.write_text(device.read_text().replace(*SHIM_MEMORY))
    tools = source / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    subprocess.run([tools / "bin/pip", "install", "-q", "meson>=1.4", "ninja", "mako", "pyyaml"], check=True)
    off = [f"-D{name}=disabled" for name in ("glx", "egl", "gbm", "llvm")]
    environment = dict(os.environ, PATH=f"{tools / 'bin'}:{os.environ['PATH']}", CC="cc", CXX="c++")
    with open(source / "build.log", "w") as log:
        for command in (["meson", "setup", "build", "-Dvulkan-drivers=[]", "-Dgallium-drivers=[]", "-Dopengl=false",
                         "-Dtools=drm-shim,intel", "-Dplatforms=", *off],
                        ["ninja", "-C", "build", f"src/intel/tools/{INTEL_SHIM}"]):
            if subprocess.run(command, cwd=tree, env=environment, stdout=log, stderr=log).returncode != 0:
                raise Missing(f"building Intel's shim failed: {source / 'build.log'}")
    shim.write_bytes((tree / "build/src/intel/tools" / INTEL_SHIM).read_bytes())
    return shim


class Driver:
    """How to run a program on a target: the words before it, and its environment."""

    def __init__(self, folder, target, mesa=None, layers=False):
        folder = pathlib.Path(folder).resolve()  # apt and the loader run elsewhere
        driver, shim, variable, chip, mesas = TARGETS[target]
        mesa = mesa if mesa in mesas else mesas[0]
        root = unpack(folder, mesa).resolve()
        libraries = root / LIBRARIES
        preload = build_intel_shim(folder) if shim == "intel" else libraries / f"lib{shim}_noop_drm_shim.so"
        manifest = folder / mesa / f"{driver}.json"
        manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": {
            "library_path": str(libraries / f"libvulkan_{driver}.so"), "api_version": "1.3.0"}}))
        # The loader of the root's own C library; the program's other libraries are the host's.
        self.command = [str(root / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path",
                        f"{libraries}:/{LIBRARIES}", "--preload", str(preload.resolve())]
        cache = folder / "caches" / f"{mesa}_{target}"
        self.environment = dict(os.environ, VK_DRIVER_FILES=str(manifest.resolve()), TUFF_CACHE_DIR=str(cache.resolve()),
                                MESA_SHADER_CACHE_DISABLE="true", **{variable: chip})
        self.environment.pop("VK_ICD_FILENAMES", None)
        if layers:
            self.environment["VK_LAYER_PATH"] = str(root / "usr/share/vulkan/explicit_layer.d")


if __name__ == "__main__":
    for name in TARGETS:
        try:
            Driver(pathlib.Path(sys.argv[1]), name)
            print(f"{name}: ready")
        except Missing as why:
            print(f"{name}: not here, {why}")
