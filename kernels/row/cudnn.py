"""Row softmax by the vendor: cudnnSoftmaxForward, accurate algorithm, instance mode, through cuDNN's C API.

Idea: the array is a batch of `rows` images of `columns` channels and one pixel; instance mode normalises each
image over all that it holds, which is a row. Accurate means that the maximum is subtracted first, as in the
other variants.

Launch shape and kernel name are cuDNN's own choice. Bytes, with A = 4 * rows * columns: a fused softmax reads A
and writes A; whether cuDNN does is for the profilers to say. Expect more time than `fused` for large arrays
(up to twice as much on an H200), and about the same for small ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_void_p
from functools import cache, partial

from nsight_suite.driving.libraries import load_library
from nsight_suite.errors import CannotMeasure

_NCHW, _FLOAT, _ACCURATE, _INSTANCE = 0, 0, 1, 0
_ONE, _ZERO = c_float(1), c_float(0)


@cache
def _library() -> ctypes.CDLL:
    library = load_library("libcudnn.so.9")
    library.cudnnGetVersion.restype = c_size_t
    library.cudnnGetErrorString.argtypes = [c_int]
    library.cudnnGetErrorString.restype = c_char_p
    library.cudnnCreate.argtypes = [POINTER(c_void_p)]
    library.cudnnSetStream.argtypes = [c_void_p, c_void_p]
    library.cudnnCreateTensorDescriptor.argtypes = [POINTER(c_void_p)]
    library.cudnnSetTensor4dDescriptor.argtypes = [c_void_p, *[c_int] * 6]
    library.cudnnSoftmaxForward.argtypes = [c_void_p, c_int, c_int, *[c_void_p] * 6]
    return library


def version() -> str:
    """Version of the library that is used, as major.minor.patch."""
    number = int(_library().cudnnGetVersion())
    major, rest = divmod(number, 10000)
    return f"{major}.{rest // 100}.{rest % 100}"


def describe(status: int) -> str:
    """The text that cuDNN has for a status."""
    text: bytes = _library().cudnnGetErrorString(status)
    return f"cuDNN status {status} ({text.decode()})"


def _check(status: int) -> None:
    if status:
        raise CannotMeasure(
            f"cuDNN could not be set up: {describe(status)}.", "See whether it fits the installed driver."
        )


@cache
def _handle(stream: int) -> c_void_p:
    """One cuDNN handle per stream, alive until the process ends."""
    handle = c_void_p()
    _check(_library().cudnnCreate(byref(handle)))
    _check(_library().cudnnSetStream(handle, stream))
    return handle


def softmax(x: int, y: int, rows: int, columns: int, stream: int) -> Callable[[], int]:
    """A call that enqueues y = softmax(x) on `stream` and returns cuDNN's status. x, y: device pointers."""
    handle = _handle(stream)
    descriptor = c_void_p()
    _check(_library().cudnnCreateTensorDescriptor(byref(descriptor)))
    _check(_library().cudnnSetTensor4dDescriptor(descriptor, _NCHW, _FLOAT, rows, columns, 1, 1))
    forward: Callable[..., int] = _library().cudnnSoftmaxForward
    one, zero = byref(_ONE), byref(_ZERO)
    source, target = c_void_p(x), c_void_p(y)
    return partial(forward, handle, _ACCURATE, _INSTANCE, one, descriptor, source, zero, descriptor, target)
