"""Element types: numpy's names against MLIR's and safetensors', and how .npy files store them."""
import numpy as np

# numpy name -> (MLIR spelling, safetensors spelling). Types that are missing here are refused by `export`.
_TABLE = {
    "float64": ("f64", "F64"), "float32": ("f32", "F32"), "float16": ("f16", "F16"),
    "bfloat16": ("bf16", "BF16"), "bool": ("i1", "BOOL"),
    "int8": ("i8", "I8"), "int16": ("i16", "I16"), "int32": ("i32", "I32"), "int64": ("i64", "I64"),
    "complex64": ("complex<f32>", "C64"), "complex128": ("complex<f64>", None),
    "uint8": ("ui8", "U8"), "uint16": ("ui16", "U16"), "uint32": ("ui32", "U32"), "uint64": ("ui64", "U64"),
    "float8_e4m3fn": ("f8E4M3FN", "F8_E4M3"), "float8_e5m2": ("f8E5M2", "F8_E5M2"),
    "float8_e8m0fnu": ("f8E8M0FNU", "F8_E8M0"), "float8_e4m3fnuz": ("f8E4M3FNUZ", None),
    "float8_e5m2fnuz": ("f8E5M2FNUZ", None), "float8_e4m3": ("f8E4M3", None), "float8_e3m4": ("f8E3M4", None),
    "float8_e4m3b11fnuz": ("f8E4M3B11FNUZ", None), "float4_e2m1fn": ("f4E2M1FN", None),
    "int4": ("i4", None), "int2": ("i2", None), "uint4": ("ui4", None), "uint2": ("ui2", None),
}


def numpy_dtype(name):
    """The numpy dtype called `name`; those of ml_dtypes ("bfloat16", "float8_e5m2", "int4") too."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))


def from_mlir(spelling):
    """The numpy dtype that MLIR spells `spelling`. Raises ValueError for a type that bundles cannot hold."""
    for name, (mlir, _) in _TABLE.items():
        if mlir == spelling:
            return numpy_dtype(name)
    raise ValueError(f"Bundles cannot hold the element type {spelling!r}.")


def mlir_name(dtype):
    """MLIR's spelling of a numpy or JAX dtype ("f32"). Raises ValueError for a type that bundles cannot hold."""
    return _lookup(dtype)[0]


def safetensors_name(dtype):
    """safetensors' spelling of a numpy or JAX dtype ("F32"). Raises ValueError for a type that such files cannot hold."""
    name = _lookup(dtype)[1]
    if name is None:
        raise ValueError(f"safetensors files cannot hold the element type {dtype.name!r}.")
    return name


def save_npy(path, array):
    """Writes `array` to `path` (.npy 1.0, C order, no pickles); ml_dtypes' as unsigned integers, the bits."""
    array = np.asarray(array)
    array = array if array.flags.c_contiguous else array.copy()  # ascontiguousarray would lift rank 0 to 1
    if array.dtype.name in _TABLE and array.dtype.type.__module__ != "numpy":
        array = array.view(f"u{array.dtype.itemsize}")
    np.save(path, array, allow_pickle=False)


def _lookup(dtype):
    if dtype.name not in _TABLE:
        raise ValueError(f"Bundles cannot hold the element type {dtype.name!r}.")
    return _TABLE[dtype.name]
