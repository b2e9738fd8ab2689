"""Forked processes, where JAX waits for threads of its own, for ever: when it compiles, and when it lets a client go.

What else such a process asks for, the plugin refuses itself (frontend/pjrt/forks.cpp).
"""
import ctypes
import functools
import os

from jax_plugins.tuff.callbacks import PLATFORM


def fork_error(library_path):
    plugin = ctypes.CDLL(library_path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    plugin.tuff_pjrt_fork_error.restype = ctypes.c_char_p
    return plugin.tuff_pjrt_fork_error()


def keep_clients():
    from jax._src import xla_bridge
    for client in getattr(xla_bridge, "_backends", {}).values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))


def register(library_path):
    from jax._src import compiler
    if not hasattr(compiler, "compile_or_get_cached"):
        raise NotImplementedError("This version of JAX may hang where it compiles for tuff in a forked process.")
    process, compile_program = os.getpid(), compiler.compile_or_get_cached

    @functools.wraps(compile_program)
    def compile_or_get_cached(backend, *args, **options):
        if os.getpid() != process and backend.platform == PLATFORM and (said := fork_error(library_path)):
            raise RuntimeError(said.decode())
        return compile_program(backend, *args, **options)

    compiler.compile_or_get_cached = compile_or_get_cached
    os.register_at_fork(after_in_child=keep_clients)
