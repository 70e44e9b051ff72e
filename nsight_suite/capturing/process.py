"""One child process: its log, its time-out, and its end together with everything that it started."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.capturing.environment import MARKER, without_secrets

TERMINATE_PATIENCE_S = 5.0
_TICK_S = 0.25


@dataclass(frozen=True)
class Ended:
    """How a child ended. `exit_status` is negative for a signal, and None when the suite ended it.

    `duration_ns` is the child's own; ending what it left behind comes on top.
    """

    exit_status: int | None
    duration_ns: int
    timed_out: bool


def run_child(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    timeout_s: float,
    stdout: Path | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Ended:
    """Run a command in `folder` until it ends or its time is up; afterwards nothing that it started is left.

    Output goes to the end of `log`, or, for standard output, to the file `stdout`. `tick` is called a few times
    a second meanwhile. `environment` must carry the marker (see `child_environment`).
    Raises OSError when the program cannot be started.
    """
    started = time.monotonic_ns()
    deadline = time.monotonic() + timeout_s
    with ExitStack() as stack:
        log_file = stack.enter_context(log.open("ab"))
        output = stack.enter_context(stdout.open("wb")) if stdout else log_file
        log_file.write(f"$ {shlex.join(without_secrets(argv))}\n".encode())
        log_file.flush()
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=log_file,
            start_new_session=True,
        )
        try:
            ended = _wait(process, deadline, tick)
            duration_ns = time.monotonic_ns() - started
        finally:
            end_family(environment[MARKER], session=process.pid, reap=process.poll)
            process.wait()
    status = process.returncode if ended else None
    return Ended(status, duration_ns, not ended)


def end_family(mark: str, *, session: int | None = None, reap: Callable[[], object] = lambda: None) -> int:
    """End every process that carries this marker or belongs to this session; returns how many there were.

    First politely, so that a profiler may clean up, then by force.
    """
    first = _family(mark, session)
    try:
        for number, patience in ((signal.SIGTERM, TERMINATE_PATIENCE_S), (signal.SIGKILL, 5.0)):
            _send(_family(mark, session), number)
            limit = time.monotonic() + patience
            while time.monotonic() < limit:
                reap()
                if not _family(mark, session):
                    return len(first)
                time.sleep(0.02)
    except BaseException:  # a second Ctrl-C must not leave anything running
        _send(_family(mark, session), signal.SIGKILL)
        raise
    return len(first)


def _wait(process: subprocess.Popen[bytes], deadline: float, tick: Callable[[], None]) -> bool:
    """Whether the process ended before the deadline."""
    while True:
        remaining = deadline - time.monotonic()
        try:
            process.wait(max(0.0, min(_TICK_S, remaining)))
        except subprocess.TimeoutExpired:
            if remaining <= 0:
                return False
            tick()
        else:
            tick()
            return True


def _send(processes: Sequence[int], number: signal.Signals) -> None:
    for pid in processes:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _family(mark: str, session: int | None) -> list[int]:
    """Living processes with this marker in their environment, or of this session.

    Profilers put the program they start into sessions of its own, so that a process group is not enough.
    """
    needle = f"{MARKER}={mark}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        if pid == os.getpid():
            continue
        try:
            # After the name in parentheses: state, parent, group, session.
            state, _, _, its_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if state in "ZX":
                continue
            if int(its_session) == session or needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append(pid)
        except (OSError, ValueError):
            continue
    return found
