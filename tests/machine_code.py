"""The machine code of a build, kernel by kernel, for tests of what the compiler made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nsight_suite.driving.build import Build, write_build
from nsight_suite.driving.disassembly import disassemble, find_disassembler


def machine_code(build: Build, folder: Path) -> dict[str, str]:
    """The SASS of each kernel by its name; the test is skipped where nothing can disassemble it."""
    if find_disassembler() is None:
        pytest.skip("nvdisasm is not installed: put the CUDA toolkit on PATH or install nvidia-cuda-nvdisasm")
    write_build(build, folder)
    assert disassemble(build, folder) is None
    sass = (folder / f"{build.source.stem}.{build.architecture}.sass").read_text(encoding="utf-8")
    parts = re.split(r"^\.text\.(\w+):$", sass, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
