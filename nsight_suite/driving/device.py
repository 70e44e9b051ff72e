"""Opening the GPU, and what it is: the `device` record and the bandwidth of its own copies."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import cupy
from cuda.bindings import driver

from nsight_suite.driving.calls import call
from nsight_suite.errors import CannotMeasure


@dataclass(frozen=True)
class Device:
    """An opened GPU with its one non-blocking stream, as cuda.bindings and as CuPy see it."""

    ordinal: int
    handle: Any
    stream: Any
    cupy_stream: Any
    architecture: str

    def attribute(self, name: str) -> int:
        """A number that CUDA knows of the device: CU_DEVICE_ATTRIBUTE_`name`."""
        return _attribute(self.handle, getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"))


def other_device(ordinal: int) -> int:
    """The visible GPU after this one; the same one where there is no other. Raises CannotMeasure."""
    return (ordinal + 1) % max(1, _visible_devices())


def open_device(ordinal: int) -> Device:
    """Make a GPU's primary context current and open a stream on it. Raises CannotMeasure."""
    count = _visible_devices()
    if not 0 <= ordinal < count:
        raise CannotMeasure(
            f"There is no device {ordinal}: this process sees {count}.", "Give another --device."
        )
    cupy.cuda.Device(ordinal).use()
    cupy.cuda.runtime.free(0)  # makes the primary context, which cuda.bindings then uses too
    handle = call(driver.cuDeviceGet, ordinal)
    stream = cupy.cuda.Stream(non_blocking=True)
    major, minor = _capability(handle)
    return Device(ordinal, handle, driver.CUstream(stream.ptr), stream, f"sm_{major}{minor}")


def _visible_devices() -> int:
    try:
        call(driver.cuInit, 0)
        return int(call(driver.cuDeviceGetCount))
    except (RuntimeError, CannotMeasure) as error:
        raise CannotMeasure(f"There is no usable NVIDIA GPU: {error}", "Run `nsight-suite doctor`.") from error


def describe(device: Device) -> dict[str, Any]:
    """The columns of the table `device` that CUDA knows."""
    name: bytes = call(driver.cuDeviceGetName, 256, device.handle)
    major, minor = _capability(device.handle)
    return {
        "ordinal": device.ordinal,
        "uuid": gpu_uuid(device),
        "name": name.split(b"\0")[0].decode(),
        "compute_capability": f"{major}.{minor}",
        "multiprocessors": device.attribute("MULTIPROCESSOR_COUNT"),
        "l2_bytes": device.attribute("L2_CACHE_SIZE"),
        "memory_bytes": int(call(driver.cuDeviceTotalMem, device.handle)),
        "cuda_driver_version": int(call(driver.cuDriverGetVersion)),
    }


def gpu_uuid(device: Device) -> str:
    return f"GPU-{uuid.UUID(bytes=bytes(call(driver.cuDeviceGetUuid, device.handle).bytes))}"


@dataclass(frozen=True)
class CopySample:
    """`copies` device-to-device copies in a row; bytes are read plus written by all of them together."""

    copies: int
    bytes: int
    duration_ns: int


def copy_samples(device: Device, rounds: int, copies: int = 8, most_bytes: int = 1 << 29) -> list[CopySample]:
    """Time copies far larger than any cache by CUDA events: what this device's memory can give at best."""
    free, _ = call(driver.cuMemGetInfo)
    size = min(most_bytes, free // 4)
    source, target = call(driver.cuMemAlloc, size), call(driver.cuMemAlloc, size)
    start, stop = (call(driver.cuEventCreate, 0) for _ in range(2))
    samples = []
    try:
        call(driver.cuMemsetD8Async, source, 1, size, device.stream)
        for _ in range(rounds + 1):
            call(driver.cuEventRecord, start, device.stream)
            for _ in range(copies):
                call(driver.cuMemcpyDtoDAsync, target, source, size, device.stream)
            call(driver.cuEventRecord, stop, device.stream)
            call(driver.cuStreamSynchronize, device.stream)
            duration_ns = round(call(driver.cuEventElapsedTime, start, stop) * 1e6)
            samples.append(CopySample(copies, 2 * size * copies, duration_ns))
    finally:
        for event in (start, stop):
            call(driver.cuEventDestroy, event)
        for memory in (source, target):
            call(driver.cuMemFree, memory)
    return samples[1:]  # the first round is the warm-up


def _capability(handle: Any) -> tuple[int, int]:
    attributes = driver.CUdevice_attribute
    return (
        _attribute(handle, attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        _attribute(handle, attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    )


def _attribute(handle: Any, attribute: Any) -> int:
    return int(call(driver.cuDeviceGetAttribute, attribute, handle))
