"""What children inherit, and what of a command line is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from nsight_suite.capturing.environment import child_environment, without_secrets


def test_a_child_inherits_nothing_of_another_profiler():
    inherited = {
        "HOME": "/home/someone",
        "CUDA_INJECTION64_PATH": "/x/libToolsInjection64.so",
        "NVTX_INJECTION64_PATH": "/x/libToolsInjection64.so",
        "NSYS_PROFILING_SESSION_ID": "1",
        "QUADD_INJECTION_PROXY": "CUDA",
        "NV_COMPUTE_PROFILER_PERFWORKS_DIR": "/x",
        "NV_TPS_LAUNCH_TOKEN": "9",
        "LD_PRELOAD": "/x/libToolsInjectionProxy64.so:/usr/lib/libjemalloc.so",
        "CUDA_VISIBLE_DEVICES": "1",
    }
    assert child_environment(inherited, Path("/run/work/nsys")) == {
        "HOME": "/home/someone",
        "LD_PRELOAD": "/usr/lib/libjemalloc.so",
        "CUDA_VISIBLE_DEVICES": "1",
        "NSIGHT_SUITE_PASS": "/run/work/nsys",
    }


def test_a_preload_of_profilers_alone_is_dropped():
    inherited = {"LD_PRELOAD": "/opt/nvidia/nsight-systems/libToolsInjectionProxy64.so"}
    assert "LD_PRELOAD" not in child_environment(inherited, Path("/w"))


def test_the_suite_comes_first_on_pythonpath():
    environment = child_environment({"PYTHONPATH": "/mine"}, Path("/w"), Path("/checkout"))
    assert environment["PYTHONPATH"] == "/checkout:/mine"
    assert child_environment({}, Path("/w"), Path("/checkout"))["PYTHONPATH"] == "/checkout"


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (["--token", "abc", "row"], ["--token", "(dropped)", "row"]),
        (["--api-key=abc"], ["--api-key=(dropped)"]),
        (["--env=HF_TOKEN=abc"], ["--env=HF_TOKEN=(dropped)"]),
        (["AWS_SECRET_ACCESS_KEY=abc"], ["AWS_SECRET_ACCESS_KEY=(dropped)"]),
        (["--password=a=b\nc"], ["--password=(dropped)"]),
        (["--key", "abc"], ["--key", "(dropped)"]),
        (["https://me:abc@example.org/x"], ["https://(dropped)@example.org/x"]),
        (["--token", "--quick"], ["--token", "--quick"]),
    ],
)
def test_secrets_are_dropped(given: list[str], written: list[str]):
    assert without_secrets(given) == written


def test_everything_else_is_written_exactly():
    argv = [
        "ncu",
        "--nvtx-include",
        "nsight_suite@row:fused:graph:32x1024/",
        "--monkey=1",
        "--max-tokens=8",
        "-o",
        "k",
    ]
    assert without_secrets(argv) == argv
