"""Programs of several processes: one that ends says so to the others, before JAX waits for them at its end.

Without it the others would wait for a process whose program has failed as long as JAX does, for minutes.
"""
import atexit
import ctypes
import os


def register(library_path):
    atexit.register(leave, library_path)


def leave(library_path):
    try:
        plugin = ctypes.CDLL(library_path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return  # JAX has not loaded it
    if hasattr(plugin, "tuff_pjrt_leave_ranks"):
        plugin.tuff_pjrt_leave_ranks()
