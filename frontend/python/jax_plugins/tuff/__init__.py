"""Registers tuff with JAX, which calls initialize() when it looks for backends.

The library is what TUFF_PJRT_PLUGIN names, else that of the installed package, else that of the checkout's build/.
Where there is none, JAX goes on without tuff, with a warning. A library that PJRT_NAMES_AND_LIBRARY_PATHS names for
tuff goes before all of these: JAX registers it by itself.
"""
import functools
import logging
import os
import pathlib

LIBRARY = "libpjrt_tuff.so"
HERE = pathlib.Path(__file__).resolve().parent
logger = logging.getLogger(__name__)


def library_path():
    """The plugin's path, or None."""
    named = os.environ.get("TUFF_PJRT_PLUGIN")
    paths = [pathlib.Path(named)] if named else [HERE.parents[1] / "tuff" / "installed" / "lib" / LIBRARY,
                                                   HERE.parents[3] / "build" / LIBRARY]
    return next((path for path in paths if path.is_file()), None)


def allow_donation(platform):
    """JAX marks donated arguments only for the platforms it has on a list."""
    from jax._src.interpreters import mlir
    platforms = getattr(mlir, "_platforms_with_donation", None)
    if isinstance(platforms, list) and platform not in platforms:
        platforms.append(platform)


def named_to_jax():
    """The plugin that JAX knows from its environment variable, or None; JAX knows no plugin twice."""
    entries = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(",")
    paths = [path for name, _, path in (entry.partition(os.pathsep) for entry in entries) if name == "tuff"]
    return paths[0] if paths else None


def complete(path):
    """What JAX does for platforms that it knows by name only."""
    from jax_plugins.tuff import callbacks, compilation_cache, dlpack, forks, linear_algebra, ranks
    allow_donation("tuff")
    for register in (functools.partial(callbacks.register, path), functools.partial(ranks.register, path),
                     functools.partial(forks.register, path), linear_algebra.register, dlpack.register,
                     compilation_cache.register):
        try:
            register()
        except NotImplementedError as error:
            logger.warning("%s", error)


def initialize():
    named = named_to_jax()
    if named:
        return complete(named)
    path = library_path()
    if path is None:
        logger.warning("tuff's PJRT plugin is not there; set TUFF_PJRT_PLUGIN to the path of %s", LIBRARY)
        return
    from jax._src import xla_bridge
    xla_bridge.register_plugin("tuff", library_path=str(path), options=None)
    complete(str(path))
