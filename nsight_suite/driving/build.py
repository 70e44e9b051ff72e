"""Compiling CUDA C++ to machine code with NVRTC: no GPU and no driver needed.

What the assembler says about each kernel (registers, shared memory, stack, spills) comes from its own log.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite.driving.calls import call
from nsight_suite.errors import CannotMeasure, SuiteError, UsageError

# --fmad=false: no contraction, so that variants of one algorithm can agree to the last bit.
OPTIONS = ("--fmad=false", "-std=c++17", "-lineinfo", "--ptxas-options=-v")

# Where sources stand in line information.
_ROOT = "/kernels"

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class KernelResources:
    """What the assembler says about one kernel. Local memory is the stack frame, spilled registers included."""

    name: str
    registers_per_thread: int
    static_shared_bytes: int
    local_bytes_per_thread: int


@dataclass(frozen=True)
class Build:
    """One source compiled for one architecture (sm_90 …). `sources` are it and what it may include, by name."""

    source: Path
    sources: Mapping[str, bytes]
    architecture: str
    options: tuple[str, ...]
    source_sha256: str
    cubin: bytes
    ptx: bytes
    log: str
    kernels: tuple[KernelResources, ...]

    @property
    def cubin_sha256(self) -> str:
        return hashlib.sha256(self.cubin).hexdigest()


def compile_source(source: Path, architecture: str, options: Sequence[str] = OPTIONS) -> Build:
    """Compile one .cu file. It may include the .cuh files of its folder and, as "../NAME", of the one above.

    Raises UsageError when the file cannot be read, SuiteError with the compiler's log when it does not compile.
    """
    try:
        text = source.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read the kernel source {source}: {error.strerror}.") from error
    found = _headers(source)
    headers = {header.name: header.included for header in found}
    # Source and headers go in by content, under names of our own: no path of this machine enters the machine
    # code, so the same source gives the same bytes in every folder.
    every_option = (f"-arch={architecture}", *options, *_uncached())
    cubin, ptx, log = _compile(text, f"{_ROOT}/{source.parent.name}/{source.name}", headers, every_option)
    hashed = hashlib.sha256(text)
    for name, content in headers.items():
        hashed.update(name.encode() + b"\0" + content)
    return Build(
        source,
        {source.name: text, **{header.file: header.text for header in found}},
        architecture,
        every_option,
        hashed.hexdigest(),
        cubin,
        ptx,
        log,
        resources(log),
    )


def write_build(build: Build, folder: Path) -> None:
    """Source, compiler's log, PTX and machine code into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{build.source.stem}.{build.architecture}"
    for name, text in build.sources.items():
        (folder / name).write_bytes(text)
    (folder / f"{stem}.log").write_text(build.log, encoding="utf-8")
    (folder / f"{stem}.ptx").write_bytes(build.ptx.rstrip(b"\0"))
    (folder / f"{stem}.cubin").write_bytes(build.cubin)


def resources(log: str) -> tuple[KernelResources, ...]:
    """The kernels that an assembler's log (`--ptxas-options=-v`) tells of, by name."""
    found = []
    parts = _ENTRY.split(log)
    for name, text in zip(parts[1::3], parts[3::3], strict=True):
        stack, used, shared = _STACK.search(text), _USED.search(text), _SHARED.search(text)
        if stack is None or used is None:
            raise SuiteError(f"The assembler's log says nothing of the registers or the stack of '{name}'.")
        found.append(KernelResources(name, int(used[1]), int(shared[1]) if shared else 0, int(stack[1])))
    return tuple(sorted(found, key=lambda kernel: kernel.name))


def nvrtc_version() -> str:
    major, minor = call(_nvrtc().nvrtcVersion)
    return f"{major}.{minor}"


def _uncached() -> tuple[str, ...]:
    """From 12.9 on NVRTC answers from a cache beside the driver, and a cached answer comes without its log."""
    return ("--no-cache",) if tuple(call(_nvrtc().nvrtcVersion)) >= (12, 9) else ()


@dataclass(frozen=True)
class _Header:
    """A file that may be included: by which name, what the compiler is given for it, and the file itself."""

    name: str
    included: bytes
    file: str
    text: bytes


def _headers(source: Path) -> list[_Header]:
    """Of a source's folder and of the one above; `#line` keeps the compiler from naming the working folder."""
    folder = source.parent
    places = [("", f"{_ROOT}/{folder.name}", path) for path in sorted(folder.glob("*.cuh"))]
    places += [("../", _ROOT, path) for path in sorted(folder.parent.glob("*.cuh"))]
    found = []
    for above, place, path in places:
        text = path.read_bytes()
        line = f'#line 1 "{place}/{path.name}"\n'.encode()
        found.append(_Header(f"{above}{path.name}", line + text, path.name, text))
    return found


def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise CannotMeasure(
            "Kernels cannot be compiled: the package cuda-bindings is missing.",
            "In the checkout: pip install '.[cuda13]' (or '.[cuda12]').",
        ) from error
    return nvrtc


def _compile(
    text: bytes, name: str, headers: dict[str, bytes], options: Sequence[str]
) -> tuple[bytes, bytes, str]:
    nvrtc = _nvrtc()
    names = [key.encode() for key in headers]
    program = call(nvrtc.nvrtcCreateProgram, text, name.encode(), len(headers), list(headers.values()), names)
    try:
        encoded = [option.encode() for option in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = _output(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).rstrip(b"\0").decode()
        if status != 0:
            raise SuiteError(
                f"{name.rsplit('/', 1)[-1]} does not compile with {' '.join(options)}:\n{log.strip()}"
            )
        cubin = _output(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        return cubin, _output(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX), log
    finally:
        call(nvrtc.nvrtcDestroyProgram, program)


def _output(program: Any, size_of: Any, get: Any) -> bytes:
    # The binding writes into the bytes object it is given: never one of a single byte, which Python shares.
    size = call(size_of, program)
    content: bytes = b" " * (size + 2)
    call(get, program, content)
    return bytes(content[:size])
