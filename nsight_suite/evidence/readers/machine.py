"""The loops of `loops` as machine code. numba compiles them once for a processor; from then on the code comes
from the user's cache.

numba itself takes half a second to start: as long as the loops take for a report of a million kernels. What it
makes for C's calling convention needs none of it: LLVM alone (llvmlite) loads that in a twentieth of the time.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nsight_suite.evidence.readers import loops
from nsight_suite.runfolder import replacing

# By the annotation of an argument: an array of this type, or a number.
_ARRAYS = {"Bytes": np.uint8, "Integers": np.int64, "Words": np.uint64, "Shorts": np.int32}
_DIGEST = hashlib.sha256().digest_size


class Unavailable(Exception):
    """There is no machine code to be had here."""


class Machine:
    """Each of loops.LOOPS as a method that takes numpy arrays, and lets other threads run meanwhile."""

    def __init__(self, address_of: Callable[[str], int], engine: object) -> None:
        self._engine = engine  # The code lives as long as it does.
        self._loops = {loop.__name__: _native(loop, address_of(_symbol(loop))) for loop in loops.LOOPS}

    def __getattr__(self, name: str) -> Callable[..., int]:
        try:
            return self._loops[name]
        except KeyError:
            raise AttributeError(name) from None


def machine(compile_now: bool) -> Machine:
    """The compiled loops; those of this processor are compiled first, which takes seconds, when `compile_now`.

    Raises Unavailable without numba, without a folder for the code, and when it is not compiled.
    """
    try:
        return _loaded(compile_now)
    except Unavailable:
        raise
    except Exception as error:
        # Whatever a future numba or LLVM does in another way: the same questions are answered without them.
        raise Unavailable(str(error)) from error


@cache
def _loaded(compile_now: bool) -> Machine:
    from importlib.metadata import version

    import llvmlite.binding as llvm

    with suppress(RuntimeError):  # Later versions do that by themselves, and refuse to be asked.
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor = {"cpu": llvm.get_host_cpu_name(), "features": llvm.get_host_cpu_features().flatten()}
    target = llvm.Target.from_default_triple().create_target_machine(
        **processor, opt=3, codemodel="jitdefault", jit=True
    )
    sources = (Path(file).read_text(encoding="utf-8") for file in (loops.__file__, __file__))
    made_of = "\0".join([version("numba"), version("llvmlite"), *processor.values(), *sources])
    file = _folder() / f"loops-{hashlib.sha256(made_of.encode()).hexdigest()[:32]}.bin"
    code = _kept(file)
    if code is None:
        if not compile_now:
            raise Unavailable("not compiled yet")
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as fresh:
            fresh.touch()  # Fails before the work rather than behind it.
            code = _compiled(llvm, target)
            fresh.write_bytes(hashlib.sha256(code).digest() + code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Machine(engine.get_function_address, engine)


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nsight-suite"


def _kept(file: Path) -> bytes | None:
    """The code in a file of the cache; None for one that is missing or damaged."""
    try:
        kept = file.read_bytes()
    except OSError:
        return None
    digest, code = kept[:_DIGEST], kept[_DIGEST:]
    return code if hashlib.sha256(code).digest() == digest else None


def _compiled(llvm: Any, target: Any) -> bytes:
    """An object file of all loops that needs no other."""
    import numba
    from numba.extending import register_jitable

    arrays = {name: numba.types.CPointer(numba.from_dtype(np.dtype(kind))) for name, kind in _ARRAYS.items()}
    for part in loops.PARTS:
        register_jitable(part)
    whole = llvm.parse_assembly("")
    for loop in loops.LOOPS:
        arguments = [arrays.get(kind, numba.int64) for kind in _kinds(loop)]
        made = numba.cfunc(numba.int64(*arguments))(loop)
        whole.link_in(llvm.parse_assembly(made.inspect_llvm().replace(made.native_name, _symbol(loop))))
    entries = {_symbol(loop) for loop in loops.LOOPS}
    for function in whole.functions:
        if not function.is_declaration and function.name not in entries:
            function.linkage = "internal"
    # numba wraps each loop in what tells of an exception. No loop raises one, as is seen when all of it is
    # optimised at once; with that wrapping goes whatever needs numba or Python.
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(whole, passes)
    foreign = [function.name for function in whole.functions if function.is_declaration]
    if foreign := [name for name in foreign if not name.startswith("llvm.")]:
        raise Unavailable(f"the code needs {', '.join(foreign)}")
    return bytes(target.emit_object(whole))


def _symbol(loop: Callable[..., int]) -> str:
    return f"nsight_suite_{loop.__name__}"


def _kinds(loop: Callable[..., int]) -> list[str]:
    return [str(kind) for name, kind in loop.__annotations__.items() if name != "return"]


def _native(loop: Callable[..., int], address: int) -> Callable[..., int]:
    kinds = [_ARRAYS.get(kind) for kind in _kinds(loop)]
    places = [ctypes.c_int64 if kind is None else ctypes.c_void_p for kind in kinds]
    native = ctypes.CFUNCTYPE(ctypes.c_int64, *places)(address)

    def place(kind: Any, value: Any) -> Any:
        if kind is None:
            return value
        if value.dtype != kind or not value.flags.c_contiguous:
            raise TypeError(f"{loop.__name__} takes a whole array of {np.dtype(kind)}, not of {value.dtype}")
        return value.ctypes.data

    def call(*values: Any) -> int:
        return int(native(*map(place, kinds, values)))

    return call
