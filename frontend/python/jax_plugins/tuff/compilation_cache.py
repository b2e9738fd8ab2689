"""JAX's persistent compilation cache, which is for platforms that JAX has on a list.

An entry is the program that goes to the plugin, which compiles it when it is read.
"""
import functools

from jax_plugins.tuff import callbacks

LARGE_ELEMENTS = 16


def calls_back(module):
    return callbacks.TARGET in module.operation.get_asm(large_elements_limit=LARGE_ELEMENTS)


def register():
    from jax._src import compilation_cache as cache
    wrapped = ("is_cache_used", "_is_cache_enabled", "get_cache_key", "put_executable_and_time")
    if not all(hasattr(cache, name) for name in wrapped):
        raise NotImplementedError("This version of JAX keeps no programs of tuff's in its compilation cache.")
    known, key_of, put = cache.is_cache_used, cache.get_cache_key, cache.put_executable_and_time
    of_this_process = set()  # keys of programs that call functions of this process

    @functools.wraps(known)
    def is_cache_used(backend):
        return cache._is_cache_enabled() if backend.platform == callbacks.PLATFORM else known(backend)

    @functools.wraps(key_of)
    def get_cache_key(module, *args, **options):
        key = key_of(module, *args, **options)
        if calls_back(module):
            of_this_process.add(key)
        return key

    @functools.wraps(put)
    def put_executable_and_time(key, *args, **options):
        if key not in of_this_process:
            put(key, *args, **options)

    cache.is_cache_used = is_cache_used
    cache.get_cache_key = get_cache_key
    cache.put_executable_and_time = put_executable_and_time
