"""DLPack out of arrays on tuff: JAX gives it for the CPU and the GPUs that it knows. They go out as memory of the host, the
array's own on tuff's CPU device, elsewhere a copy. DLPack in needs nothing: jax.dlpack.from_dlpack puts arrays on JAX's CPU.
"""
import ctypes

import numpy as np

PLATFORM = "tuff"
CPU = 1  # DLDeviceType::kDLCPU
TYPE_CODES = {"bfloat16": 4, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10,
              "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14}  # DLDataTypeCode
TYPE_CODE = 8 + 8 + 4  # where DLManagedTensor has it: behind the data's address, the device and the rank


def writable(array):
    """The same memory, which NumPy exports only where it may be written; who takes it must not, as JAX says of its own."""
    if array.size == 0:
        return array.copy()
    memory = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array
    return np.frombuffer(memory, array.dtype).reshape(array.shape)


def capsule_of_type(bits, code):
    """The capsule of an array of integers, which from here on are of another type of as many bits."""
    capsule = bits.__dlpack__()
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    ctypes.c_uint8.from_address(address(capsule, b"dltensor") + TYPE_CODE).value = code
    return capsule


def export(array, copy):
    host = np.asarray(array)
    host = host.copy() if copy else writable(np.ascontiguousarray(host).reshape(host.shape))
    code = TYPE_CODES.get(host.dtype.name)
    if code is not None:  # NumPy exports the types that are its own
        return capsule_of_type(host.view(f"u{host.itemsize}"), code)
    if host.dtype.isbuiltin != 1:
        raise BufferError(f"DLPack has no arrays of ({host.dtype}) with a byte for each element; cast it to another type.")
    return host.__dlpack__()


def register():
    """Teaches JAX's arrays. Raises where this JAX makes them otherwise than those that are known."""
    import jax
    from jax._src import array
    try:
        cls = array.ArrayImpl
        device_elsewhere, dlpack_elsewhere = cls.__dlpack_device__, cls.__dlpack__
    except AttributeError as error:
        raise NotImplementedError(f"JAX {jax.__version__} makes arrays in a way that tuff does not know ({error!r}); "
                                  "arrays on tuff have no DLPack.") from error

    def on_tuff(self):
        devices = self.devices()
        return len(devices) == 1 and next(iter(devices)).platform == PLATFORM

    def dlpack_device(self):
        return (CPU, 0) if on_tuff(self) else device_elsewhere(self)

    def dlpack(self, *, stream=None, dl_device=None, copy=None, **kwargs):
        if not on_tuff(self):
            return dlpack_elsewhere(self, stream=stream, dl_device=dl_device, copy=copy, **kwargs)
        if dl_device is not None and int(dl_device[0]) != CPU:
            raise BufferError("Arrays on tuff are exported to the host only.")
        return export(self, copy)

    cls.__dlpack_device__, cls.__dlpack__ = dlpack_device, dlpack
