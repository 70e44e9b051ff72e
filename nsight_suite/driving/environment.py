"""Records of what a pass ran on: tools, the GPU, its state, the bandwidth of its own copies."""

from __future__ import annotations

from collections.abc import Mapping

from nsight_suite.driving import device
from nsight_suite.driving.bench import Bench
from nsight_suite.driving.build import nvrtc_version
from nsight_suite.driving.state import read_state
from nsight_suite.versions import library_versions


def record_tools(bench: Bench) -> None:
    for name, version in {"nvrtc": nvrtc_version(), **library_versions()}.items():
        bench.tool(name, version)


def record_device(bench: Bench) -> None:
    described = device.describe(bench.device)
    state = read_state(described["uuid"])
    bench.records.write("device", **described, driver_version=state.driver_version)
    _record_unknown(bench, "device", {k: v for k, v in state.unknown.items() if k == "driver_version"})


def record_state(bench: Bench, moment: str) -> None:
    state = read_state(device.gpu_uuid(bench.device))
    bench.records.write("device_state", moment=moment, **state.columns)
    _record_unknown(bench, "device_state", {k: v for k, v in state.unknown.items() if k != "driver_version"})


def record_copies(bench: Bench) -> None:
    for number, sample in enumerate(device.copy_samples(bench.device, bench.plan.rounds)):
        bench.records.write(
            "sample",
            quantity="device_copy",
            round=number,
            position=0,
            invocations=sample.copies,
            bytes=sample.bytes,
            duration_ns=sample.duration_ns,
        )


def _record_unknown(bench: Bench, table: str, unknown: Mapping[str, str]) -> None:
    for name, reason in unknown.items():
        bench.records.write("finding", code="device-unknown", subject=f"{table}.{name}", reason=reason)
