"""Runs that many tests read: the synthetic one and the recorded one."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from synthetic_run import make_run

from nsight_suite.runfolder import RunFolder

# A worker of pytest-xdist ignores Ctrl-C, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

RECORDED = Path(__file__).resolve().parent.parent / "examples" / "row-h200"


@pytest.fixture(scope="session")
def synthetic_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A complete run made without a GPU; shared by all tests, so read only."""
    return make_run(tmp_path_factory.mktemp("synthetic") / "row-synthetic")


@pytest.fixture(scope="session")
def recorded_run() -> RunFolder:
    """The run that was recorded on an H200."""
    return RunFolder(RECORDED)
