"""Machine code as text (SASS), by nvdisasm: of the CUDA toolkit, or of the package nvidia-cuda-nvdisasm."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from nsight_suite.driving.build import Build

_TIMEOUT_S = 60


def disassemble(build: Build, folder: Path) -> str | None:
    """Write the SASS of a build that `write_build` put into `folder`; returns why that was impossible."""
    program = find_disassembler()
    if program is None:
        return (
            "nvdisasm is not installed, so the machine code is kept without its text. "
            "Put the CUDA toolkit on PATH, or: pip install nvidia-cuda-nvdisasm"
        )
    stem = f"{build.source.stem}.{build.architecture}"
    try:
        done = subprocess.run(
            [program, "--print-code", f"{stem}.cubin"],
            cwd=folder,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nvdisasm could not be run: {error}."
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"nvdisasm failed: {told[0] if told else f'exit status {done.returncode}'}."
    (folder / f"{stem}.sass").write_bytes(done.stdout)
    return None


def find_disassembler() -> str | None:
    """The nvdisasm on PATH, else one that came with a package."""
    if program := shutil.which("nvdisasm"):
        return program
    packaged = (path for entry in sys.path for path in Path(entry).glob("nvidia/*/bin/nvdisasm"))
    return next((str(path) for path in packaged if path.is_file()), None)
