"""Where tuff's libraries and its command are, and libtuff's functions by ctypes. Standard library only.

An installed package carries them in `installed/`; a checkout has them in `build/`. TUFF_LIBRARY names another libtuff.
"""
import ctypes
import functools
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
INSTALLED = HERE / "installed"
BUILD = HERE.parents[2] / "build"


class Error(RuntimeError):
    """What a call of tuff's failed with. `status` is a TUFF_ number of tuff.h, `location` a place in the model."""

    def __init__(self, status, message, location=""):
        super().__init__(f"{location}: {message}" if location else message)
        self.status = status
        self.location = location


def library_path():
    """The path of libtuff. Raises Error, naming the places, where there is none."""
    named = os.environ.get("TUFF_LIBRARY")
    places = [pathlib.Path(named)] if named else [INSTALLED / "lib/libtuff.so.0", BUILD / "libtuff.so.0"]
    for place in places:
        if place.is_file():
            return place
    raise Error(3, "libtuff is not there (" + ", ".join(map(str, places)) + "); install the package again, build the "
                   "checkout, or set TUFF_LIBRARY to its path.")


def command_path():
    """The path of the `tuff` command."""
    for place in (INSTALLED / "bin/tuff", BUILD / "tuff"):
        if place.is_file():
            return place
    raise Error(3, f"The command is neither at {INSTALLED / 'bin/tuff'} nor at {BUILD / 'tuff'}.")


# The structs of tuff.h, field by field.
def _struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", ctypes.c_size_t), *fields]})


_text, _int, _long, _size = ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_size_t
_pointer, _shape = ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)
Progress = ctypes.CFUNCTYPE(_int, _pointer, _text, _long, _long)
Log = ctypes.CFUNCTYPE(None, _pointer, _int, _text)

TensorType = _struct("TensorType", ("dtype", _int), ("rank", ctypes.c_uint32), ("shape", _shape))
ContextOptions = _struct("ContextOptions", ("log", Log), ("log_user", _pointer), ("cache_directory", _text),
                         ("cache_max_bytes", _long), ("allocate", _pointer), ("free", _pointer),
                         ("allocator_user", _pointer))
DeviceInfo = _struct("DeviceInfo", ("kind", _int), ("usable", _int), ("id", _text), ("name", _text), ("driver", _text),
                     ("api_version", _text), ("why_not", _text), ("vendor_id", ctypes.c_uint32),
                     ("device_id", ctypes.c_uint32), ("uuid", ctypes.c_uint8 * 16), ("memory_bytes", _long),
                     ("memory_available_bytes", _long), ("max_buffer_bytes", _long), ("max_shared_bytes", _long),
                     ("subgroup_size", _int), ("has_i64", _int), ("has_f64", _int), ("pci_address", _text))
CompileOptions = _struct("CompileOptions", ("path", _text), ("bytes", _pointer), ("num_bytes", _size), ("name", _text),
                         ("shapes", _pointer), ("num_shapes", _size), ("weights_path", _text), ("require_gpu", _int),
                         ("progress", Progress), ("progress_user", _pointer), ("values", _pointer), ("num_values", _size))
ProgramInfo = _struct("ProgramInfo", ("num_arguments", _size), ("num_results", _size), ("num_operations", _size),
                      ("num_steps", _size), ("num_kernels", _size), ("num_kernels_compiled", _size),
                      ("num_host_steps", _size), ("argument_bytes", _long), ("result_bytes", _long),
                      ("constant_bytes", _long), ("arena_bytes", _long))
ValueInfo = _struct("ValueInfo", ("name", _text), ("dtype", _int), ("rank", ctypes.c_uint32), ("shape", _shape),
                    ("is_bound", _int), ("count_dimension", ctypes.c_uint32), ("count_result", _size))
RunOptions = _struct("RunOptions", ("donated", ctypes.POINTER(ctypes.c_size_t)), ("num_donated", _size))

CacheInfo = _struct("CacheInfo", ("directory", _text), ("num_entries", _long), ("bytes", _long), ("max_bytes", _long))
VulkanDevice = _struct("VulkanDevice", ("instance", _pointer), ("physical_device", _pointer), ("device", _pointer),
                       ("queue", _pointer), ("queue_family", ctypes.c_uint32), ("api_version", ctypes.c_uint32),
                       ("create_info", _pointer), ("get_instance_proc_addr", _pointer), ("lock_queue", _pointer),
                       ("unlock_queue", _pointer), ("queue_user", _pointer))
VulkanBuffer = _struct("VulkanBuffer", ("buffer", ctypes.c_uint64), ("offset", ctypes.c_uint64))
SaveOptions = _struct("SaveOptions", ("without_weights", _int))


class ArgumentValue(ctypes.Structure):
    _fields_ = [("name", _text), ("dtype", _int), ("rank", ctypes.c_uint32), ("shape", _shape), ("data", _pointer)]


class ArgumentShape(ctypes.Structure):
    _fields_ = [("name", _text), ("rank", ctypes.c_uint32), ("shape", _shape)]


def sized(struct):
    """A new struct that says its size."""
    value = struct()
    value.struct_size = ctypes.sizeof(struct)
    return value


@functools.cache
def library():
    """libtuff, loaded once."""
    loaded = ctypes.CDLL(str(library_path()))
    loaded.tuff_last_error.restype = loaded.tuff_last_error_location.restype = _text
    loaded.tuff_version_string.restype = _text
    loaded.tuff_buffer_size.restype = _size
    for kind in ("context", "device", "buffer", "program", "event"):
        getattr(loaded, f"tuff_{kind}_destroy").argtypes = [_pointer]
        getattr(loaded, f"tuff_{kind}_destroy").restype = None
    return loaded


def call(function, *arguments):
    """Calls a function of tuff.h that gives a status; raises Error where it failed."""
    status = getattr(library(), function)(*arguments)
    if status != 0:
        raise Error(status, library().tuff_last_error().decode(), library().tuff_last_error_location().decode())
