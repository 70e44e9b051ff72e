"""Where the profilers are on this machine, and their versions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.capturing.environment import child_environment

TOOL_NAMES = ("nsys", "ncu", "compute-sanitizer")

# Where NVIDIA's packages put them when they put nothing on PATH.
INSTALL_FOLDERS = (
    "/usr/local/cuda/bin",
    "/usr/local/cuda-*/bin",
    "/usr/local/cuda*/compute-sanitizer",
    "/usr/local/cuda*/nsight-compute-*",
    "/opt/cuda/bin",
    "/opt/nvidia/nsight-systems/*/bin",
    "/opt/nvidia/nsight-systems/*/target-linux-x64",
    "/opt/nvidia/nsight-systems-cli/*/bin",
    "/opt/nvidia/nsight-compute/*",
    "/usr/lib/nsight-systems/bin",
)


@dataclass(frozen=True)
class Tool:
    """A program that was found. `version` is None when it would not say."""

    name: str
    path: Path
    version: str | None


def find_tools(folders: Sequence[str] = INSTALL_FOLDERS) -> dict[str, Tool]:
    """The profilers that are installed, by name: on PATH, else in the usual folders, newest first."""
    found = (find_tool(name, folders) for name in TOOL_NAMES)
    return {tool.name: tool for tool in found if tool}


def find_tool(name: str, folders: Sequence[str] = INSTALL_FOLDERS) -> Tool | None:
    """One of the profilers, if it is installed."""
    path = shutil.which(name) or _installed(name, folders)
    return Tool(name, Path(path), _version(path)) if path else None


def _installed(name: str, folders: Sequence[str]) -> str | None:
    candidates = [
        folder / name
        for pattern in folders
        for folder in Path("/").glob(pattern.lstrip("/"))
        if os.access(folder / name, os.X_OK)
    ]
    return str(max(candidates, key=_natural)) if candidates else None


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts 2025.10 after 2025.9."""
    return [(int(digits or 0), text) for digits, text in re.findall(r"(\d+)|(\D+)", str(path))]


def _version(path: str) -> str | None:
    """What `TOOL --version` says after the word "version"."""
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            stdin=subprocess.DEVNULL,
            env=child_environment(os.environ, Path("version")),
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    match = re.search(r"\bversion:?\s+(\d\S*)", answer.stdout + answer.stderr, re.IGNORECASE)
    return match[1] if match else None
