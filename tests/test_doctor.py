"""The checks of a machine, one by one, and the command that prints them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fake_tools.bench import ready, with_fakes, without, without_gpu

from nsight_suite import doctor
from nsight_suite.capturing import preflight, probes
from nsight_suite.capturing.preflight import ALL_PASSES, Check, blocking, unmet_needs
from nsight_suite.capturing.tools import Tool, find_tools

# The fixture below replaces it.
REAL_COUNTERS = probes.counters

H200 = probes.Gpu(("NVIDIA H200",), "580.159", "13.0")


def nsys(version: str) -> dict[str, Tool]:
    return {"nsys": Tool("nsys", Path("/opt/nsys"), version)}


@pytest.fixture
def whole_machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that has everything; a test takes something away."""
    with_fakes(monkeypatch)
    monkeypatch.setattr(probes, "gpu", lambda: H200)
    monkeypatch.setattr(probes, "cupy", lambda: probes.Library("14.2.0, sees 1 device(s)"))
    monkeypatch.setattr(probes, "library", lambda name: probes.Library(f"/lib/{name}"))
    monkeypatch.setattr(probes, "counters", lambda: probes.Counters(restricted=False, admin=False, root=False))
    monkeypatch.setattr(probes, "free_disk", lambda output: (output, 50 << 30))
    versions = {"nvtx": "0.2.11", "cuda-bindings": "13.0.3"}
    monkeypatch.setattr(preflight, "distribution_version", versions.get)
    return monkeypatch


def inspected(device: int = 0) -> tuple[Check, ...]:
    return preflight.inspect_machine(
        find_tools(folders=()), Path("/out"), device, {"libcudnn.so.9": ("cudnn",)}
    )


def check(name: str, device: int = 0) -> Check:
    checks = inspected(device)
    return next(check for check in checks if check.name == name)


def test_a_whole_machine(whole_machine: pytest.MonkeyPatch):
    checks = inspected()
    assert {check.state for check in checks} == {"ok"}
    assert check("ncu").seen.startswith("2025.3.1.0, ")
    assert check("GPU and driver").seen == "NVIDIA H200; driver 580.159, CUDA 13.0"


def test_no_gpu(whole_machine: pytest.MonkeyPatch):
    whole_machine.setattr(probes, "gpu", lambda: probes.Gpu(problem="the driver sees no GPU"))
    assert (check("GPU and driver").state, check("GPU and driver").needed_by) == ("missing", ALL_PASSES)


def test_a_device_that_is_not_there(whole_machine: pytest.MonkeyPatch):
    assert check("device", device=1).seen.startswith("no device 1")
    assert check("device", device=-1).remedy == "Choose --device from 0 to 0."


def test_bindings_newer_than_the_driver(whole_machine: pytest.MonkeyPatch):
    whole_machine.setattr(probes, "gpu", lambda: probes.Gpu(("NVIDIA A100",), "535.1", "12.2"))
    assert check("cuda-bindings").state == "warning"


@pytest.mark.parametrize(
    ("nvtx", "version", "state"),
    [
        ("0.2.11", "2023.4.4.54", "ok"),
        ("0.2.12", "2023.4.4.54", "missing"),
        ("0.2.13", "2023.2.3", "missing"),
        ("0.3.0", "2023.2.3", "missing"),
        ("0.2.17", "2024.1.1", "ok"),
        ("0.2.17", "2025.5.2.266-255236693005v0", "ok"),
    ],
)
def test_the_pair_that_loses_every_range(monkeypatch: pytest.MonkeyPatch, nvtx: str, version: str, state: str):
    found = preflight._nvtx_and_nsys(nvtx, nsys(version)["nsys"])
    assert found.state == state
    assert found.needed_by == ("nsys",)
    if state == "missing":
        assert "nvtx==0.2.11" in found.remedy


@pytest.mark.parametrize(
    ("parameters", "capabilities", "expected"),
    [
        ("RmProfilingAdminOnly: 0\n", "0", "ok"),
        ("RmProfilingAdminOnly: 1\n", "000001ffffffffff", "ok"),
        ("RmProfilingAdminOnly: 1\n", "00000000a80425fb", "missing"),
        ("", "000001ffffffffff", "warning"),
    ],
)
def test_permission_to_read_counters(
    tmp_path: Path, whole_machine: pytest.MonkeyPatch, parameters: str, capabilities: str, expected: str
):
    """Docker's default capabilities (a80425fb) lack SYS_ADMIN; without the driver's file nothing is known."""
    (tmp_path / "params").write_text(f"RmMsg: \n{parameters}")
    (tmp_path / "status").write_text(f"Name:\tx\nCapEff:\t{capabilities}\n")
    whole_machine.setattr("os.geteuid", lambda: 1000)
    seen = REAL_COUNTERS(tmp_path / "params", tmp_path / "status")
    whole_machine.setattr(probes, "counters", lambda: seen)
    assert check("permission to read counters").state == expected


def test_root_without_the_capability_is_tried_all_the_same(whole_machine: pytest.MonkeyPatch):
    whole_machine.setattr(probes, "counters", lambda: probes.Counters(restricted=True, admin=False, root=True))
    assert check("permission to read counters").state == "warning"


@pytest.mark.parametrize(("free", "state"), [(10, "missing"), (500 << 20, "warning"), (5 << 30, "ok")])
def test_disk(whole_machine: pytest.MonkeyPatch, free: int, state: str):
    whole_machine.setattr(probes, "free_disk", lambda output: (output, free))
    assert check("disk").state == state


def test_free_disk_of_a_folder_that_does_not_exist_yet(tmp_path: Path):
    folder, free = probes.free_disk(tmp_path / "runs" / "later")
    assert folder == tmp_path
    assert free > 0


def test_tools_are_found_on_path_and_in_install_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tools(folders=()) == {}
    for version in ("2024.9.1", "2024.10.2"):
        program = tmp_path / "opt" / version / "ncu"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho 'Version {version} (build 1)'\n")
        program.chmod(0o755)
    found = find_tools(folders=(f"{tmp_path}/opt/*",))["ncu"]
    assert (found.version, found.path.parent.name) == ("2024.10.2", "2024.10.2")


def test_a_tool_that_hangs_or_says_nothing_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "nsys"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tools(folders=())["nsys"].version is None


def test_a_probe_that_fails_says_why_in_one_line():
    assert probes._ask("import json; print(json.dumps({'a': 1}))") == ({"a": 1}, None)
    assert (
        probes._ask("raise SystemExit('cuInit: no CUDA-capable device')")[1] == "cuInit: no CUDA-capable device"
    )
    assert probes._ask("import os; os.kill(os.getpid(), 11)")[1] == "ended with status -11"


def test_only_what_every_pass_needs_stops_a_capture():
    checks = (*ready(), *without("ncu")())
    assert blocking(checks, ["timing", "ncu"], ["staged"]) == []
    assert [check.name for check in blocking(checks, ["ncu", "ncu-warm"], ["staged"])] == ["ncu"]
    assert [check.name for check in blocking(without_gpu(), ["timing"], [])] == ["GPU and driver"]
    assert unmet_needs(checks, ["timing", "ncu"]) == {"ncu": "ncu is not installed. Install ncu."}


def test_doctor_on_a_whole_machine(capsys: pytest.CaptureFixture[str]):
    assert doctor.main([], inspect=ready) == 0
    assert "Everything that a capture needs is there." in capsys.readouterr().out


def test_doctor_tells_the_remedies(capsys: pytest.CaptureFixture[str]):
    assert doctor.main([], inspect=without("nsys")) == 2
    assert "missing  nsys  nsys is not installed  (nsys)" in capsys.readouterr().out


def test_a_library_that_only_a_variant_needs(
    whole_machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    whole_machine.setattr(probes, "library", lambda name: probes.Library(problem=f"{name} was not found"))
    assert doctor.main([]) == 0
    assert "!        libcudnn.so.9" in capsys.readouterr().out
    assert doctor.main(["row"]) == 2
    output = capsys.readouterr().out
    assert re.search(r"missing  libcudnn\.so\.9 .*\(variant cudnn\)", output)
    assert "pip install nvidia-cudnn-cu13" in output
    lack = check("libcudnn.so.9")
    assert blocking([lack], ["timing"], ["cudnn"]) == [lack]
    assert blocking([lack], ["timing"], ["fused"]) == []


def test_a_library_is_looked_for_as_a_driver_does():
    assert probes.library("libc.so.6") == probes.Library("libc.so.6")
    problem = probes.library("libnowhere.so.9").problem
    assert problem
    assert problem.startswith("libnowhere.so.9 cannot be loaded: ")


def test_doctor_as_json(capsys: pytest.CaptureFixture[str]):
    assert doctor.main(["--json"], inspect=without_gpu) == 2
    assert json.loads(capsys.readouterr().out) == {
        "ready": False,
        "checks": [
            {
                "name": "GPU and driver",
                "state": "missing",
                "seen": "no NVIDIA driver",
                "remedy": "Use a machine with a GPU.",
                "needed_by": list(ALL_PASSES),
                "variants": [],
            }
        ],
    }
