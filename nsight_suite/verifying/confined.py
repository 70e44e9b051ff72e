"""Verifying in a process of its own: with a folder of its own, and limits of time, memory and room.

What is verified is anybody's. Whatever a damaged or hostile bundle makes a library do ends with that process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.runfolder import sha256
from nsight_suite.unpacking import LIMITS, shown
from nsight_suite.verifying.checks import Check, Verification
from nsight_suite.verifying.telling import from_data

# Nothing is imported from where it is started; where this process found the package it is found at last.
_START = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('nsight_suite.verifying', run_name='__main__', alter_sys=True)"
)
_WAIT_S = 0.05
_START_S = 120.0
_LOOK_EVERY_S = 1.0
_MOST_SHOWN = 1000


@dataclass(frozen=True)
class Allowed:
    """What a verification may take: seconds in all, bytes of memory, bytes in its temporary folder."""

    seconds: float = 900.0
    memory_bytes: int = 8 << 30
    room_bytes: int = 2 * LIMITS.bytes


@dataclass
class _Told:
    """What the process has told so far, as the thread that listens to it writes it down."""

    run_id: str = ""
    manifest_sha256: str | None = None
    checks: list[Check] = field(default_factory=list)
    begun: bool = False
    beginning: str = ""
    error: tuple[str, str] | None = None
    ended: bool = False
    _heard: int = 0

    def hear(self, each: Callable[[Check], None]) -> None:
        """Let `each` hear of what it has not heard yet."""
        while self._heard < len(self.checks):
            self._heard += 1
            each(self.checks[self._heard - 1])


def verify_confined(
    path: Path,
    skip: Collection[str] = (),
    allowed: Allowed = Allowed(),
    outside: str = "",
    each: Callable[[Check], None] = lambda check: None,
) -> Verification:
    """Verify a run folder or an archive; `each` hears of every check when it is done.

    `outside` is the folder of an experiment outside the project, whose figures are drawn too: its code is run.
    Raises UsageError for what is no run or bundle, and SuiteError for one that is refused as a whole.
    """
    path = path.resolve()
    asked = {
        "path": str(path),
        "skip": sorted(skip),
        "outside": outside and str(Path(outside).resolve()),
        "memory_bytes": allowed.memory_bytes,
    }
    archive = sha256(path) if path.is_file() else None
    told = _Told()
    with tempfile.TemporaryDirectory(prefix="nsight-suite-verify-", ignore_cleanup_errors=True) as folder:
        why = _run(asked, Path(folder), allowed, told, each)
    if told.error:
        what, way_out = (shown(text, _MOST_SHOWN) for text in told.error)
        raise SuiteError(what, way_out) if told.checks else UsageError(what, way_out)
    if why and not told.checks and not told.beginning:
        raise SuiteError(f"{shown(path.name)} could not be opened: {shown(why)}.", "No run is like that.")
    if why and told.beginning:
        about = "it was not done when the verification was ended"
        told.checks.append(Check(told.beginning, about, ended=why))
        told.hear(each)
    unfinished = f"Not all checks were made: {why}." if why else ""
    return Verification(path.name, told.run_id, told.manifest_sha256, archive, tuple(told.checks), unfinished)


def _run(
    asked: Mapping[str, Any],
    folder: Path,
    allowed: Allowed,
    told: _Told,
    each: Callable[[Check], None],
) -> str:
    """Start the process and listen to it. Why it was ended, or empty when it ended by itself."""
    errors = folder / "errors"
    with errors.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, str(Path(__file__).resolve().parents[2]), json.dumps(asked)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sink,
            env={**os.environ, "TMPDIR": str(folder), "MPLBACKEND": "agg"},
            cwd=folder,
            start_new_session=True,
        )
    listener = Thread(target=_listen, args=(process.stdout, told), daemon=True)
    listener.start()
    try:
        why = _watch(process, folder, allowed, told, each)
    finally:
        _end(process)
        listener.join()
    told.hear(each)
    if why or told.ended:
        return why
    if process.returncode in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        return "its process died, most likely for want of memory"
    last = errors.read_bytes()[-_MOST_SHOWN:].decode(errors="replace").strip().splitlines()
    return f"its process ended with the status {process.returncode}" + (f" ({last[-1]})" if last else "")


def _watch(
    process: subprocess.Popen[bytes],
    folder: Path,
    allowed: Allowed,
    told: _Told,
    each: Callable[[Check], None],
) -> str:
    """Wait for the process to end; why it must be ended. Its time begins when it has its modules."""
    started = looked = time.monotonic()
    begun = None
    while process.poll() is None:
        time.sleep(_WAIT_S)
        told.hear(each)
        now = time.monotonic()
        if begun is None and told.begun:
            begun = now
        if begun is None and now - started > _START_S:
            return f"it had not begun after {_START_S:g} s"
        if begun is not None and now - begun > allowed.seconds:
            return f"it took more than {allowed.seconds:g} s"
        if now - looked > _LOOK_EVERY_S:
            looked = now
            if _size(folder) > allowed.room_bytes:
                return f"it wrote more than {allowed.room_bytes / 1e9:.3g} GB of temporary files"
    return ""


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # gone meanwhile
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512  # noqa: PTH118 — thousands of them
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listen(stream: Any, told: _Told) -> None:
    for line in stream:
        try:
            message: Mapping[str, Any] = json.loads(line)
        except ValueError:
            continue  # a library printed something
        match message:
            case {"run_id": run_id, "manifest_sha256": digest}:
                told.run_id, told.manifest_sha256 = run_id, digest
            case {"begun": True}:
                told.begun = True
            case {"begins": name}:
                told.beginning = name
            case {"check": data}:
                told.checks.append(from_data(data))
            case {"error": [what, way_out]}:
                told.error = (what, way_out)
                told.ended = True
            case {"end": True}:
                told.ended = True
