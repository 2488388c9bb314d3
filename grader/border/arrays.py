"""NumPy's arrays and scalars as plain data: each is the torch tensor, or the Python number, of the same bits.

Exact types of plain numbers alone; arrays of objects, texts or records and subclasses are no values. torch works
without NumPy, so this does too.
"""

import contextlib
import importlib
from typing import Any, Final

import torch

from grader.border.bounds import Budget

numpy: Any = None
with contextlib.suppress(ImportError):
    numpy = importlib.import_module("numpy")

_NAMES: Final = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
DTYPES: Final[dict[str, Any]] = {} if numpy is None else {name: numpy.dtype(name) for name in _NAMES}
_DTYPE_NAMES: Final[dict[Any, str]] = {dtype: name for name, dtype in DTYPES.items()}
DTYPE_KINDS: Final = {type(dtype) for dtype in _DTYPE_NAMES}
"""The exact types of dtypes that are values."""
ARRAY: Final[Any] = None if numpy is None else numpy.ndarray
"""The class of arrays; None without NumPy."""
_SCALARS: Final = set() if numpy is None else {*numpy.sctypeDict.values()}
SCALARS: Final[dict[type, str]] = {
    kind: _DTYPE_NAMES[numpy.dtype(kind)] for kind in _SCALARS if numpy.dtype(kind) in _DTYPE_NAMES
}
"""The exact types of scalars that are values, and their dtypes by name."""
# As they were before any submitted code could replace them.
_tensor_of: Final = torch.from_numpy


def is_array(value: object) -> bool:
    """Whether it is an array of the exact class."""
    return ARRAY is not None and type(value) is ARRAY


def to_tensor(array: Any) -> torch.Tensor | None:
    """A tensor of the numbers of an exact array, in its memory if torch can have that; None for other dtypes.

    Raises:
        WireError: it is larger than values may be.
    """
    dtype = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    if dtype not in _DTYPE_NAMES:
        return None
    steps = array.strides
    is_fit = array.flags.writeable and array.flags.aligned and array.dtype.isnative
    if not is_fit or any(step < 0 or step % dtype.itemsize for step in steps):
        Budget().take(1, array.nbytes, array.size)  # before a copy is made of a small memory that looks large
        array = array.astype(dtype, order="C")
    return _tensor_of(array)


def dtype_name(dtype: Any) -> list[str] | None:
    """``["y", "numpy.float32"]`` for a dtype of the machine's byte order."""
    return ["y", f"numpy.{_DTYPE_NAMES[dtype]}"] if dtype in _DTYPE_NAMES else None


def scalar_bytes(value: Any) -> list[Any]:
    """``[dtype, bytes]`` of a scalar of an exact type in `SCALARS`."""
    return [SCALARS[type(value)], value.tobytes()]


def scalar(name: str, data: bytes) -> Any:
    """The scalar of these bytes; None if they are not one."""
    dtype = DTYPES.get(name)
    if dtype is None or len(data) != dtype.itemsize or (name == "bool" and data not in (b"\0", b"\1")):
        return None
    return numpy.frombuffer(data, dtype)[0]


def as_number(value: object) -> object:
    """The Python number that a scalar holds; anything else as it is."""
    return value.item() if type(value) in SCALARS else value  # type: ignore[attr-defined]
