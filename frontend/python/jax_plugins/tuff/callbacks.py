"""Callbacks from programs on tuff into Python: pure_callback, io_callback, debug.callback, debug.print, checkify.

JAX lowers them for platforms that it knows by name. Here the same primitives get lowerings for "tuff": a custom call that
holds the number of a function, which the plugin calls while the program runs (frontend/pjrt/callbacks.cpp).
"""
import atexit
import ctypes
import functools
import inspect
import itertools
import os
import threading
import traceback

import numpy as np

TARGET = "tuff_callback"
PLATFORM = "tuff"

# ---- Functions by number


class Functions:
    """Functions that programs call, each as long as somebody retains it."""

    def __init__(self):
        self._lock = threading.RLock()  # a collection within it may release
        self._entries = {}  # number: [function, how often it is retained]
        # Executables may be kept beyond the process: no two processes give the same numbers.
        self._numbers = itertools.count(int.from_bytes(os.urandom(4), "little") % 2**31 << 32)

    def add(self, function):
        """The number of a function that nobody has retained yet."""
        with self._lock:
            number = next(self._numbers)
            self._entries[number] = [function, 0]
            return number

    def get(self, number):
        with self._lock:
            return self._entries[number][0]

    def retain(self, number):
        with self._lock:
            entry = self._entries.get(number)
            if entry is not None:
                entry[1] += 1
            return entry is not None

    def release(self, number):
        with self._lock:
            entry = self._entries[number]
            entry[1] -= 1
            if entry[1] == 0:
                del self._entries[number]


functions = Functions()


class Share:
    """Retains a function as long as it lives: what JAX keeps with a lowered program."""

    def __init__(self, number):
        self._number = number
        functions.retain(number)

    def __del__(self, functions=functions):  # which may be gone from the module at the interpreter's end
        functions.release(self._number)


# ---- What the plugin calls; the structs are those of frontend/pjrt/callbacks.cpp


class CalledArray(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int64),
                ("shape", ctypes.POINTER(ctypes.c_int64))]

    def array(self):
        """The array in the plugin's memory, which is its own again after the call."""
        from tuff.dtypes import from_mlir
        dtype, shape = from_mlir(self.dtype.decode()), tuple(self.shape[: self.rank])
        if not self.data:
            return np.empty(shape, dtype)
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        return np.frombuffer((ctypes.c_byte * size).from_address(self.data), dtype).reshape(shape)


_Fail = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class CalledArgs(ctypes.Structure):
    _fields_ = [("callback", ctypes.c_int64), ("num_arguments", ctypes.c_int64),
                ("arguments", ctypes.POINTER(CalledArray)), ("num_results", ctypes.c_int64),
                ("results", ctypes.POINTER(CalledArray)), ("fail", _Fail), ("error", ctypes.c_void_p)]


_Call = ctypes.CFUNCTYPE(None, ctypes.POINTER(CalledArgs))
_Retain = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)
_Release = ctypes.CFUNCTYPE(None, ctypes.c_int64)


class Callbacks(ctypes.Structure):
    _fields_ = [("call", _Call), ("retain", _Retain), ("release", _Release)]


def call(pointer):
    """Runs a function on copies of its arguments, which it may keep. No exception leaves it."""
    args = pointer.contents
    try:
        arguments = [args.arguments[i].array().copy() for i in range(args.num_arguments)]
        results = functions.get(args.callback)(*arguments)
        for i in range(args.num_results):
            np.copyto(args.results[i].array(), results[i])
    except BaseException:  # pylint: disable=broad-except
        args.fail(args.error, traceback.format_exc().encode())


_callbacks = Callbacks(_Call(call), _Retain(functions.retain), _Release(functions.release))


@functools.cache
def connect(library_path):
    """Tells the plugin, once, whom to call."""
    plugin = ctypes.CDLL(library_path)  # the one that JAX has loaded
    if not hasattr(plugin, "tuff_pjrt_set_callbacks"):
        raise NotImplementedError(f"The plugin {library_path} is older than this package and has no callbacks; build it anew.")
    plugin.tuff_pjrt_set_callbacks(ctypes.byref(_callbacks))
    atexit.register(disconnect, plugin)


def disconnect(plugin):
    """At the interpreter's end: what runs may still call, then nobody is called any more."""
    from jax._src import dispatch
    try:
        dispatch.wait_for_tokens()
    except Exception:  # pylint: disable=broad-except
        pass  # JAX waits as well, and tells
    plugin.tuff_pjrt_set_callbacks(None)


# ---- Lowerings


def checked(function, result_avals):
    """The function with results as arrays of the types that it promised."""
    import jax

    def run(*args):
        results = function(*args)
        if len(results) != len(result_avals):
            raise RuntimeError("Mismatched number of outputs from callback. "
                               f"Expected: {len(result_avals)}, Actual: {len(results)}")
        arrays = [np.asarray(result) for result in results]
        arrays = [array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False) for array in arrays]
        for i, (array, aval) in enumerate(zip(arrays, result_avals)):
            for what in "shape", "dtype":
                expected, actual = getattr(aval, what), getattr(array, what)
                if expected != actual:
                    raise RuntimeError(f"Incorrect output {what} for return value #{i}: Expected: {expected}, Actual: {actual}")
        return arrays

    return run


def is_complex(aval):
    return np.issubdtype(aval.dtype, np.complexfloating)


def byte_type(dtype):
    """What the plugin has of arrays of 8-bit floats and smaller types: their bytes; None of others."""
    if dtype.itemsize > 1 or dtype.type.__module__ == "numpy":
        return None
    return np.dtype(np.int8 if dtype.name in ("int4", "int2") else np.uint8)


def in_parts(function, operand_avals):
    """The function as the plugin calls it: complex arrays come and go as two, their real and their imaginary parts, and
    arrays of small types as bytes."""

    def run(*parts):
        parts = iter(parts)
        args = []
        for aval in operand_avals:
            array = next(parts)
            if is_complex(aval):
                real, array = array, np.empty(array.shape, aval.dtype)
                array.real, array.imag = real, next(parts)
            args.append(array if byte_type(aval.dtype) is None else array.view(aval.dtype))
        results = []
        for result in function(*args):
            bytes_ = byte_type(result.dtype)
            result = result if bytes_ is None else np.ascontiguousarray(result).reshape(result.shape).view(bytes_)
            results += [result.real, result.imag] if np.iscomplexobj(result) else [result]
        return results

    return run


def takes_functions():
    """Whether a lowered module's host callbacks are Python's functions, which plugins ignore; before JAX 0.6 a client made
    something of its own of each."""
    from jax._src.lib import xla_client
    return not hasattr(xla_client.Client, "get_emit_python_callback_descriptor")


def emit_callback(library_path, ctx, callback, token, operands, operand_avals, result_avals, has_side_effect, sharding):
    """A call of `callback`: the results, the token and what keeps the function, as emit_python_callback of JAX gives."""
    from jax._src.interpreters import mlir
    connect(library_path)
    number = functions.add(in_parts(checked(callback, result_avals), operand_avals))
    share = Share(number)
    ctx.module_context.add_keepalive(share)
    if takes_functions():  # says that runs have tokens and that no other process can use the program; no more comes of it
        ctx.module_context.add_host_callback(callback)
    types = [mlir.ir.RankedTensorType.get(aval.shape, mlir.dtype_to_ir_type(aval.dtype)) for aval in result_avals]
    config = {"callback": mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(64), number)}
    called = mlir.custom_call(TARGET, result_types=types, operands=operands, backend_config=config,
                              has_side_effect=has_side_effect, api_version=4)
    if sharding is not None:  # which device calls; only programs of one device call at all
        set_sharding = mlir.set_sharding
        where = [ctx.module_context] if len(inspect.signature(set_sharding).parameters) > 2 else []
        set_sharding(*where, called, sharding)
    # Effects happen in the program's order, with a token or without.
    return list(called.results), token, share


def num_devices(axis_context):
    """Of the program that is lowered."""
    mesh = getattr(axis_context, "mesh", None)
    return mesh.size if mesh is not None else getattr(axis_context, "num_devices", 1)


def emitter(library_path, emit_elsewhere):
    """JAX's emit_python_callback, which knows tuff as well."""

    @functools.wraps(emit_elsewhere)
    def emit_python_callback(ctx, callback, token, operands, operand_avals, result_avals, *args, **kwargs):
        if tuple(ctx.module_context.platforms) != (PLATFORM,):
            return emit_elsewhere(ctx, callback, token, operands, operand_avals, result_avals, *args, **kwargs)
        has_side_effect = args[0] if args else kwargs["has_side_effect"]
        if kwargs.get("partitioned"):
            raise NotImplementedError("Partitioned callbacks are not implemented on tuff.")
        if num_devices(ctx.module_context.axis_context) > 1:
            raise NotImplementedError("Callbacks of programs over several devices are not implemented on tuff.")
        return emit_callback(library_path, ctx, callback, token, operands, operand_avals, result_avals, has_side_effect,
                             kwargs.get("sharding"))

    return emit_python_callback


def primitives_by_platform():
    """Those whose lowering JAX registers for each platform by itself, as far as this JAX has them."""
    from jax._src import checkify, debugging
    for module, names in (debugging, ("debug_callback_p", "debug_print_p")), (checkify, ("check_p",)):
        yield from (getattr(module, name) for name in names if hasattr(module, name))


def pass_tokens_ahead_of_time():
    """Without host callbacks, programs compiled ahead of time lose their tokens from the second call on."""
    from jax._src.interpreters import pxla
    create_elsewhere = pxla.MeshExecutable.create_cpp_call

    @functools.wraps(create_elsewhere)
    def create_cpp_call(self, *args):
        return None if getattr(self.unsafe_call, "ordered_effects", None) else create_elsewhere(self, *args)

    pxla.MeshExecutable.create_cpp_call = create_cpp_call


def register(library_path):
    """Makes JAX's callbacks work on tuff. Raises where this JAX is made otherwise than those that are known."""
    import jax
    from jax._src import callback
    from jax._src.interpreters import mlir
    try:
        lowerings = mlir._platform_specific_lowerings
        for primitive in primitives_by_platform():
            lowerings[PLATFORM][primitive] = lowerings["cpu"][primitive]
        homes = [module for module in (mlir, callback) if hasattr(module, "emit_python_callback")]
        emit = emitter(library_path, homes[0].emit_python_callback)
        if not takes_functions():
            pass_tokens_ahead_of_time()
    except (AttributeError, KeyError, IndexError) as error:
        raise NotImplementedError(f"JAX {jax.__version__} makes callbacks in a way that tuff does not know ({error!r}); "
                                  "programs with callbacks do not run on tuff.") from error
    for module in homes:
        module.emit_python_callback = emit
