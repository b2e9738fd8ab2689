"""Running models on libtuff: `load`, `devices`, `Device`, `Program`, `Buffer`. Needs NumPy, no JAX."""
import ctypes
import dataclasses
import os
import threading

import numpy as np

from . import library as c
from .dtypes import numpy_dtype

# By tuff_dtype.
_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
           "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
           "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz",
           "int4", "int2", "uint4", "uint2")
_KINDS = ("cpu", "discrete", "integrated", "virtual", "software", "other")


class _Handle:
    """An object of tuff.h, destroyed with this one."""

    def __init__(self, kind, pointer):
        self._kind, self._pointer = kind, pointer

    def __del__(self):
        if getattr(self, "_pointer", None):
            getattr(c.library(), f"tuff_{self._kind}_destroy")(self._pointer)
            self._pointer = None


def _new(function, *arguments):
    """What a function of tuff.h gives through its last argument."""
    pointer = ctypes.c_void_p()
    c.call(function, *arguments, ctypes.byref(pointer))
    return pointer


class Context:
    """Where messages go and compiled kernels are kept. `Device`, `load` and `devices` share one unless they are given
    another.

    `log(level, line)` hears warnings ("warning") and news ("info"), from any thread. `cache_directory`: where kernels
    are kept on disk, None for what the environment says, "" for nowhere; `cache_max_bytes`: how much of them, 0 for 1 GiB.
    """

    def __init__(self, log=None, cache_directory=None, cache_max_bytes=0):
        options = c.sized(c.ContextOptions)
        if log:
            options.log = self._log = c.Log(lambda _, level, text: log(_LEVELS[level], text.decode(errors="replace")))
            _loggers.append(self._log)  # devices may outlive this object
        options.cache_directory = os.fsencode(cache_directory) if cache_directory is not None else None
        options.cache_max_bytes = cache_max_bytes
        self._handle = _Handle("context", _new("tuff_context_create", ctypes.byref(options)))

    def devices(self):
        """The devices of this machine: Vulkan's in the driver's order, then the CPU."""
        count = ctypes.c_size_t()
        c.call("tuff_context_count_devices", self._handle._pointer, ctypes.byref(count))
        listed = []
        for index in range(count.value):
            info = c.sized(c.DeviceInfo)
            c.call("tuff_context_device_info", self._handle._pointer, ctypes.c_size_t(index), ctypes.byref(info))
            listed.append(_device_info(info))
        return listed

    @property
    def cache(self):
        """What is kept on disk: directory, num_entries, bytes, max_bytes."""
        info = c.sized(c.CacheInfo)
        c.call("tuff_cache_get_info", self._handle._pointer, ctypes.byref(info))
        return {"directory": os.fsdecode(info.directory), "num_entries": info.num_entries, "bytes": info.bytes,
                "max_bytes": info.max_bytes}

    def clear_cache(self):
        c.call("tuff_cache_clear", self._handle._pointer)

    def adopt_vulkan(self, *, instance, physical_device, device, queue, queue_family, api_version, create_info):
        """A Device on a VkDevice of the application's own. Handles, and the address of the VkDeviceCreateInfo that it was
        made with, are integers; `tuff_vulkan_device` in tuff.h says what they must be. Nobody else uses the queue while
        tuff may."""
        given = c.sized(c.VulkanDevice)
        given.instance, given.physical_device, given.device, given.queue = instance, physical_device, device, queue
        given.queue_family, given.api_version, given.create_info = queue_family, api_version, create_info
        pointer = _new("tuff_device_adopt_vulkan", self._handle._pointer, ctypes.byref(given))
        return Device._of(_Handle("device", pointer))


_LEVELS = {1: "warning", 2: "info"}
_loggers = []
_context_lock = threading.Lock()
_shared_context = None


def _context():
    """The process's context."""
    global _shared_context
    with _context_lock:
        if _shared_context is None:
            _shared_context = Context()
        return _shared_context


def _sizes(shape):
    return (ctypes.c_int64 * max(len(shape), 1))(*shape)


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """One device of this machine. `id` is what `Device` and `load` take; sizes are bytes, -1 where unknown."""
    id: str
    name: str
    kind: str  # cpu, discrete, integrated, virtual, software, other
    usable: bool
    why_not: str  # a sentence; empty if usable
    driver: str
    api_version: str
    vendor_id: int
    device_id: int
    uuid: str
    memory_bytes: int
    memory_available_bytes: int
    pci_address: str  # "0000:01:00.0"; empty where it is not told


def _device_info(info):
    return DeviceInfo(info.id.decode(), info.name.decode(), _KINDS[info.kind], bool(info.usable), info.why_not.decode(),
                      info.driver.decode(), info.api_version.decode(), info.vendor_id, info.device_id,
                      bytes(info.uuid).hex(), info.memory_bytes, info.memory_available_bytes, info.pci_address.decode())


def devices():
    """The devices of this machine: Vulkan's in the driver's order, then the CPU."""
    return _context().devices()


class Device:
    """An open device: `auto` (the best GPU, else the CPU), `vulkan`, `vulkan:N` or `cpu`."""

    def __init__(self, id="auto", context=None):
        self._handle = _Handle("device", _new("tuff_device_open", (context or _context())._handle._pointer,
                                              os.fsencode(id)))

    @classmethod
    def _of(cls, handle):
        device = cls.__new__(cls)
        device._handle = handle
        return device

    @property
    def info(self):
        info = c.sized(c.DeviceInfo)
        c.call("tuff_device_get_info", self._handle._pointer, ctypes.byref(info))
        return _device_info(info)

    def buffer(self, value, dtype=None):
        """The value on the device: a copy of a NumPy array, or of what NumPy or DLPack makes one of."""
        return Buffer(self, _new_buffer(self, _as_array(value, dtype)))

    def wrap_vulkan(self, vk_buffer, shape, dtype, offset=0):
        """A part of a VkBuffer as a Buffer, of a device that `Context.adopt_vulkan` gave. The application keeps it
        until the last use has ended."""
        type = _tensor_type(dtype, shape)
        place = c.sized(c.VulkanBuffer)
        place.buffer, place.offset = vk_buffer, offset
        return Buffer(self, _new("tuff_buffer_wrap_vulkan", self._handle._pointer, ctypes.byref(type),
                                 ctypes.byref(place), None, None))

    def load(self, model, *, shapes=None, values=None, weights=None, require_gpu=False, progress=None):
        """The model compiled for the device.

        `model`: a path (a bundle's directory, a .mlir or .mlirbc file, any format that `tuff run` reads), or the bytes
        of such a file. `shapes`: sizes for arguments that leave some open, by name. `values`: arrays for arguments that
        shapes follow from, by name; the program holds for those only. `weights`: a .safetensors file.
        `require_gpu`: what has no kernel for the GPU is an Error instead of the CPU's. `progress(phase, done, total)`
        may return False to end the compilation.
        """
        return Program(self, model, shapes or {}, values or {}, weights, require_gpu, progress)

    def __repr__(self):
        return f"<tuff.Device {self.info.id}: {self.info.name}>"


def load(model, device="auto", **options):
    """The model, compiled for a device: `tuff.load("model.mlir")(x)`. Options: those of `Device.load`."""
    return (device if isinstance(device, Device) else Device(device)).load(model, **options)


def _as_array(value, dtype=None):
    if not isinstance(value, np.ndarray) and not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    array = np.asarray(value, dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous else array.copy()


def _dtype_number(dtype):
    name = np.dtype(dtype).name
    if name not in _DTYPES:
        raise TypeError(f"tuff has no tensors of {dtype}.")
    return _DTYPES.index(name)


def _tensor_type(dtype, shape):
    type = c.sized(c.TensorType)
    type.dtype, type.rank, type.shape = _dtype_number(dtype), len(shape), _sizes(shape)
    return type


def _new_buffer(device, array):
    type = _tensor_type(array.dtype, array.shape)
    return _new("tuff_buffer_create", device._handle._pointer, ctypes.byref(type), ctypes.c_void_p(array.ctypes.data))


class Buffer:
    """A tensor on a device. `np.asarray(buffer)` copies it to the host; DLPack shares the CPU's memory."""

    def __init__(self, device, pointer):
        self.device = device
        self._handle = _Handle("buffer", pointer)
        type = c.sized(c.TensorType)
        c.call("tuff_buffer_type", pointer, ctypes.byref(type))
        self.shape = tuple(type.shape[d] for d in range(type.rank))
        self.dtype = numpy_dtype(_DTYPES[type.dtype])

    def numpy(self):
        """A copy on the host; waits for the run that computes it."""
        array = np.empty(self.shape, self.dtype)
        c.call("tuff_buffer_read", self._handle._pointer, ctypes.c_void_p(array.ctypes.data),
               ctypes.c_size_t(array.nbytes))
        return array

    @property
    def vulkan(self):
        """The VkBuffer that it lies in, and its offset there; the handle is 0 elsewhere than in Vulkan's memory."""
        place = c.sized(c.VulkanBuffer)
        c.call("tuff_buffer_vulkan", self._handle._pointer, ctypes.byref(place))
        return place.buffer, place.offset

    def __array__(self, dtype=None, copy=None):
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __dlpack_device__(self):
        return (1, 0)  # the host's memory: export copies what is elsewhere

    def __dlpack__(self, *, stream=None, **_):
        tensor = _new("tuff_buffer_export_dlpack", self._handle._pointer)
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new_capsule(tensor, b"dltensor", ctypes.cast(_delete_capsule, ctypes.c_void_p))

    def __repr__(self):
        return f"<tuff.Buffer {self.dtype}{list(self.shape)} on {self.device.info.id}>"


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete_capsule(capsule):
    """Frees an exported tensor that nobody took: a taken one's capsule has another name."""
    is_valid, get = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    is_valid.argtypes, get.argtypes = [ctypes.c_void_p, ctypes.c_char_p], [ctypes.c_void_p, ctypes.c_char_p]
    get.restype = ctypes.c_void_p
    if is_valid(capsule, b"dltensor"):
        tensor = get(capsule, b"dltensor")
        # DLManagedTensor: 48 bytes of tensor, the manager's pointer, the deleter.
        deleter = ctypes.cast(tensor + 56, ctypes.POINTER(ctypes.c_void_p))[0]
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(tensor)


@dataclasses.dataclass(frozen=True)
class Value:
    """An argument or a result: its name in the model, its type; an argument with a value need not be given.

    A result whose length the data says is as long as it can be; the result number `count_result` tells how many elements
    of its dimension `count_dimension` count. Of all others `count_result` is 0.
    """
    name: str
    dtype: np.dtype
    shape: tuple
    is_bound: bool = False
    count_dimension: int = 0
    count_result: int = 0


class Program:
    """A model on a device; `Device.load` makes it. May be called from several threads."""

    def __init__(self, device, model, shapes, values, weights, require_gpu, progress):
        self.device = device
        options = c.sized(c.CompileOptions)
        if isinstance(model, (bytes, bytearray, memoryview)):
            kept = bytes(model)
            options.bytes, options.num_bytes = ctypes.cast(ctypes.c_char_p(kept), ctypes.c_void_p), len(kept)
        else:
            options.path = os.fsencode(model)
        given = (c.ArgumentShape * max(len(shapes), 1))()
        for place, (name, shape) in zip(given, shapes.items()):
            place.name, place.rank, place.shape = name.encode(), len(shape), _sizes(shape)
        options.shapes, options.num_shapes = ctypes.cast(given, ctypes.c_void_p), len(shapes)
        arrays = [_as_array(value) for value in values.values()]
        known = (c.ArgumentValue * max(len(values), 1))()
        for place, name, array in zip(known, values, arrays):
            place.name, place.dtype, place.rank = name.encode(), _dtype_number(array.dtype), array.ndim
            place.shape, place.data = _sizes(array.shape), array.ctypes.data
        options.values, options.num_values = ctypes.cast(known, ctypes.c_void_p), len(values)
        options.weights_path = os.fsencode(weights) if weights is not None else None
        options.require_gpu = require_gpu
        if progress:
            options.progress = c.Progress(lambda _, phase, done, total:
                                          int(progress(phase.decode(), done, total) is False))
        self._handle = _Handle("program", _new("tuff_program_compile", device._handle._pointer, ctypes.byref(options)))
        info = self.info
        self.arguments = [self._value("argument", i) for i in range(info.num_arguments)]
        self.results = [self._value("result", i) for i in range(info.num_results)]
        self._free = [i for i, argument in enumerate(self.arguments) if not argument.is_bound]

    @property
    def info(self):
        """Counts and sizes: num_operations, num_steps, num_kernels, num_host_steps, arena_bytes ..."""
        info = c.sized(c.ProgramInfo)
        c.call("tuff_program_get_info", self._handle._pointer, ctypes.byref(info))
        return info

    def _value(self, kind, index):
        info = c.sized(c.ValueInfo)
        c.call(f"tuff_program_{kind}", self._handle._pointer, ctypes.c_size_t(index), ctypes.byref(info))
        return Value(info.name.decode(), numpy_dtype(_DTYPES[info.dtype]),
                     tuple(info.shape[d] for d in range(info.rank)), bool(info.is_bound), info.count_dimension,
                     info.count_result)

    def _place(self, positional, named):
        """The value of each argument; None for what is bound."""
        if len(positional) > len(self._free):
            raise TypeError(f"The program takes {len(self._free)} arguments, not {len(positional)}.")
        values = [None] * len(self.arguments)
        for i, value in zip(self._free, positional):
            values[i] = value
        for name, value in named.items():
            i = self._index(name)
            if values[i] is not None:
                raise TypeError(f"The argument {name!r} is given twice.")
            values[i] = value
        return values

    def _index(self, name):
        names = [argument.name for argument in self.arguments]
        if name not in names:
            raise TypeError(f"The program has no argument {name!r}; it has {', '.join(names)}.")
        return names.index(name)

    def _as_buffer(self, argument, value):
        if isinstance(value, Buffer):
            return value
        array = _as_array(value)
        if array.dtype != argument.dtype and not isinstance(value, (np.ndarray, np.generic)):
            array = array.astype(argument.dtype)  # a Python number or list has no type of its own
        if array.dtype != argument.dtype or array.shape != argument.shape:
            raise TypeError(f"The argument {argument.name!r} must be {argument.dtype}{list(argument.shape)}, not "
                            f"{array.dtype}{list(array.shape)}.")
        return Buffer(self.device, _new_buffer(self.device, array))

    def _call(self, function, buffers, donate, *rest):
        """Calls a function of tuff.h that runs the program; gives its results."""
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(
            *[buffer._handle._pointer if buffer is not None else None for buffer in buffers])
        results = (ctypes.c_void_p * max(len(self.results), 1))()
        given_up = (ctypes.c_size_t * max(len(donate), 1))(*donate)
        options = c.sized(c.RunOptions)
        options.donated, options.num_donated = given_up, len(donate)
        c.call(function, self._handle._pointer, ctypes.byref(options), pointers, ctypes.c_size_t(len(buffers)), results,
               ctypes.c_size_t(len(self.results)), *rest)
        return [Buffer(self.device, ctypes.c_void_p(result)) for result in results[:len(self.results)]]

    def _buffers(self, positional, named):
        return [value if value is None else self._as_buffer(argument, value)
                for argument, value in zip(self.arguments, self._place(positional, named))]

    def run(self, *positional, donate=(), **named):
        """Runs without waiting; gives Buffers, one for each of `results`, which stay on the device and may go into further
        runs. `donate` names arguments whose buffers are given up, so that results may take their memory."""
        return self._call("tuff_program_run_async", self._buffers(positional, named),
                          [self._index(name) for name in donate], None)

    def __call__(self, *positional, **named):
        """The results as NumPy arrays: one array where the model has one result, else a tuple. Those whose length the
        data says are cut to it, and the counts are left out."""
        arrays = [buffer.numpy() for buffer in self._call("tuff_program_run", self._buffers(positional, named), [])]
        counts = {result.count_result for result in self.results if result.count_result}
        for i, result in enumerate(self.results):
            if result.count_result:
                arrays[i] = np.take(arrays[i], range(int(arrays[result.count_result])), result.count_dimension)
        kept = tuple(array for i, array in enumerate(arrays) if i not in counts)
        return kept[0] if len(kept) == 1 else kept

    def save(self, path, *, weights=True):
        """Writes the program, compiled, to a file that `load` takes: on such a device it then compiles no kernel.
        `weights=False` leaves the values of bound arguments out."""
        options = c.sized(c.SaveOptions)
        options.without_weights = not weights
        c.call("tuff_program_save", self._handle._pointer, os.fsencode(path), ctypes.byref(options))

    def __repr__(self):
        info = self.info
        return (f"<tuff.Program of {info.num_operations} operations in {info.num_steps} steps on "
                f"{self.device.info.id}>")

