"""The GPU's state as NVML tells it: recorded before and after the measurements, never set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# nvml.h, nvmlClocksEventReason*
_REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}


@dataclass(frozen=True)
class State:
    """Columns of `device_state`, the driver's version, and for each value that could not be had its reason."""

    columns: dict[str, Any]
    driver_version: str | None
    unknown: dict[str, str]


def read_state(uuid: str) -> State:
    """Ask NVML about the GPU with this UUID. Never raises: what NVML does not tell is in `unknown`."""
    names = ("sm_clock_mhz", "memory_clock_mhz", "power_mw", "temperature_c", "throttle_reasons", "ecc")
    try:
        import pynvml
    except ImportError:
        return State({}, None, dict.fromkeys((*names, "driver_version"), "the package nvidia-ml-py is missing"))
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except pynvml.NVMLError as error:
        return State({}, None, dict.fromkeys((*names, "driver_version"), f"NVML: {error}"))
    asked: dict[str, Callable[[], Any]] = {
        "sm_clock_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "memory_clock_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
        "power_mw": lambda: pynvml.nvmlDeviceGetPowerUsage(handle),
        "temperature_c": lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        "throttle_reasons": lambda: reasons(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
        "ecc": lambda: "on" if pynvml.nvmlDeviceGetEccMode(handle)[0] else "off",
        "driver_version": lambda: _text(pynvml.nvmlSystemGetDriverVersion()),
    }
    values: dict[str, Any] = {}
    unknown = {}
    for name, ask in asked.items():
        try:
            values[name] = ask()
        except pynvml.NVMLError as error:
            unknown[name] = f"NVML: {error}"
    driver_version = values.pop("driver_version", None)
    return State(values, driver_version, unknown)


def reasons(mask: int) -> str:
    """The clock event reasons in NVML's mask, joined by '+'; `none` when the clocks are free."""
    known = [name for bit, name in _REASONS.items() if mask & bit]
    rest = mask & ~sum(_REASONS)
    return "+".join([*known, *([f"0x{rest:x}"] if rest else [])]) or "none"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
