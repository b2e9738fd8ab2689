"""Puts the PJRT plugin into the package: the library that TUFF_PJRT_PLUGIN names, else that of the checkout's build/.

Without one the package is installed all the same; the plugin then looks for TUFF_PJRT_PLUGIN when JAX starts.
"""
import os
import pathlib
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

LIBRARY = "libpjrt_tuff.so"
HERE = pathlib.Path(__file__).resolve().parent


def built_library():
    path = pathlib.Path(os.environ.get("TUFF_PJRT_PLUGIN") or HERE.parents[1] / "build" / LIBRARY)
    return path if path.is_file() else None


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if built_library() and not self.editable_mode:
            shutil.copy2(built_library(), pathlib.Path(self.build_lib) / "jax_plugins" / "tuff" / LIBRARY)


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return built_library() is not None


setup(cmdclass={"build_py": BuildWithLibrary}, distclass=PlatformDistribution)
