"""libtuff as a Conan 2 package, built from this checkout: `conan create frontend/c/conan`.

Libraries come from the system's packages: on Debian and Ubuntu those below, which Conan installs with
`-c tools.system.package_manager:mode=install` (and `sudo=True` for others than root), or `./dev packages` before.
"""
import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt


class Tuff(ConanFile):
    name = "tuff"
    description = "A tensor compiler and runtime for any Vulkan GPU, and the CPU"
    license = "Apache-2.0"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    @property
    def checkout(self):
        return pathlib.Path(self.recipe_folder).resolve().parents[2]

    def set_version(self):
        self.version = re.search(r"project\(tuff VERSION ([\d.]+)", load(self, self.checkout / "CMakeLists.txt"))[1]

    def export_sources(self):
        copy(self, "CMakeLists.txt", self.checkout, self.export_sources_folder)
        copy(self, "LICENSE", self.checkout, self.export_sources_folder)
        for room in ("ir", "shaders", "backend", "frontend"):
            copy(self, "*", self.checkout / room, pathlib.Path(self.export_sources_folder) / room,
                 excludes=("*__pycache__*", "python/build/*", "*.egg-info/*", "c/conan/*"))  # no builds of others

    def system_requirements(self):
        libraries = ["libvulkan-dev", "glslang-dev", "glslang-tools", "spirv-tools", "libshaderc-dev", "libfmt-dev",
                     "libcli11-dev", "nlohmann-json3-dev", "libprotobuf-dev", "protobuf-compiler", "libdnnl-dev",
                     "liblapack-dev"]
        if self.settings.arch == "x86_64":
            libraries.append("libxbyak-dev")
        Apt(self).install(libraries)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TUFF_TESTS"] = False
        toolchain.cache_variables["TUFF_UNITY"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["tuff"]
        self.cpp_info.set_property("cmake_file_name", "tuff")
        self.cpp_info.set_property("cmake_target_name", "tuff::tuff")
        self.cpp_info.set_property("pkg_config_name", "tuff")
