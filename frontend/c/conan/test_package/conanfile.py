"""An application that asks for the package: it is built, and runs a model."""
import pathlib

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestTuff(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            model = pathlib.Path(self.recipe_folder).resolve().parents[3] / "tests/models/mlp"
            self.run(f'"{self.cpp.build.bindir}/run_bundle" "{model}" cpu', env="conanrun")
