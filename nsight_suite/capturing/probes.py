"""Looking at the machine: GPU, libraries, permissions, disk. A look says what it saw, or why it saw nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite.capturing.environment import child_environment, package_root
from nsight_suite.versions import cupy_version

_TIMEOUT_S = 60
_CAP_SYS_ADMIN = 1 << 21

# libcuda alone answers without CUDA toolkit or nvidia-smi, which many containers lack.
_GPU_CODE = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(text))
        raise SystemExit(f"{name}: {(text.value or b'?').decode()}")
call("cuInit", 0)
version, count = ctypes.c_int(), ctypes.c_int()
call("cuDriverGetVersion", ctypes.byref(version))
call("cuDeviceGetCount", ctypes.byref(count))
names = []
for number in range(count.value):
    device, text = ctypes.c_int(), ctypes.create_string_buffer(256)
    call("cuDeviceGet", ctypes.byref(device), number)
    call("cuDeviceGetName", text, 256, device)
    names.append(text.value.decode())
print(json.dumps({"names": names, "cuda": version.value}))
"""

_CUPY_CODE = """
import json
import cupy
print(json.dumps({"version": cupy.__version__, "devices": cupy.cuda.runtime.getDeviceCount()}))
"""


@dataclass(frozen=True)
class Gpu:
    """The GPUs by name, or the `problem`. `cuda_version` is the newest that the driver supports."""

    names: tuple[str, ...] = ()
    driver_version: str | None = None
    cuda_version: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Library:
    """What was seen of a library, or the `problem`."""

    seen: str = ""
    problem: str | None = None


@dataclass(frozen=True)
class Counters:
    """Whether counters are for administrators only (None: not known), and what this process is.

    `admin`: it holds CAP_SYS_ADMIN. `root`: its user is 0, which in a container need not mean the former.
    """

    restricted: bool | None
    admin: bool
    root: bool


def gpu() -> Gpu:
    answer, problem = _ask(_GPU_CODE)
    if problem:
        return Gpu(problem="no NVIDIA driver (libcuda.so.1 is absent)" if "libcuda" in problem else problem)
    if not answer["names"]:
        return Gpu(problem="the driver sees no GPU")
    version = answer["cuda"]
    return Gpu(tuple(answer["names"]), _driver_version(), f"{version // 1000}.{version % 1000 // 10}")


def cupy() -> Library:
    """CuPy is imported in a child: it takes seconds, and a wheel for another CUDA can end the process."""
    if cupy_version() is None:
        return Library(problem="not installed")
    answer, problem = _ask(_CUPY_CODE)
    if problem:
        return Library(problem=f"{cupy_version()} does not work: {problem}")
    return Library(f"{answer['version']}, sees {answer['devices']} device(s)")


def library(name: str) -> Library:
    """A shared library, looked for as a driver does."""
    answer, problem = _run("-m", "nsight_suite.driving.libraries", name)
    return Library(problem=problem) if problem else Library(answer)


def counters(
    parameters: Path = Path("/proc/driver/nvidia/params"), status: Path = Path("/proc/self/status")
) -> Counters:
    """Reads the driver's parameters and this process's capabilities; the driver asks for CAP_SYS_ADMIN."""
    restricted = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", _read(parameters), re.MULTILINE)
    capabilities = re.search(r"^CapEff:\s*([0-9a-f]+)", _read(status), re.MULTILINE)
    admin = bool(int(capabilities[1], 16) & _CAP_SYS_ADMIN) if capabilities else False
    return Counters(restricted[1] != "0" if restricted else None, admin, os.geteuid() == 0)


def free_disk(output: Path) -> tuple[Path, int]:
    """The nearest folder above `output` that exists, and the bytes that are free there."""
    folder = output.absolute()
    while not folder.is_dir():
        folder = folder.parent
    return folder, shutil.disk_usage(folder).free


def numbers(version: str) -> tuple[int, ...]:
    """`2023.4.4.54-x` as (2023, 4, 4, 54), for comparing."""
    return tuple(int(part) for part in re.findall(r"\d+", version.split("-", maxsplit=1)[0]))


def _driver_version() -> str | None:
    return _read(Path("/sys/module/nvidia/version")).strip() or None


def _ask(code: str) -> tuple[dict[str, Any], str | None]:
    """Run Python code that prints one JSON object; gives the object, or what went wrong in one line."""
    answer, problem = _run("-c", code)
    return ({}, problem) if problem else (json.loads(answer), None)


def _run(*arguments: str) -> tuple[str, str | None]:
    """Run Python; gives the last line that it printed, or what went wrong in one line."""
    try:
        answer = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=child_environment(os.environ, Path("probe"), package_root()),
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_TIMEOUT_S} s"
    except OSError as error:
        return "", str(error.strerror)
    lines = answer.stdout.strip().splitlines()
    if answer.returncode == 0 and lines:
        return lines[-1], None
    errors = answer.stderr.strip().splitlines()
    return "", errors[-1] if errors else f"ended with status {answer.returncode}"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
