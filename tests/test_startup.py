"""Starting is cheap: what is heavy is imported only where it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from nsight_suite import __version__
from nsight_suite.__main__ import VERBS

HEAVY = ("cupy", "duckdb", "pandas", "numpy", "matplotlib", "jinja2", "rich", "sqlite_utils")
IMPORT_CPU_S = 0.10
HELP_CPU_S = 0.25

# CPU time of the process, user and system: a busy machine makes it little longer. For the import the bare
# interpreter is taken off.
_MEASURE = """
import json, sys, time
began = time.process_time()
import nsight_suite
cost = time.process_time() - began
print(json.dumps({"cpu_s": cost, "modules": sorted({name.split(".")[0] for name in sys.modules})}))
"""
_HELP = """
import contextlib, io, os, runpy, sys
sys.argv = ["nsight_suite", "--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as said:
    runpy.run_module(f"nsight_suite.{VERB}", run_name="__main__")
assert "usage:" in said.getvalue()
times = os.times()
print(times.user + times.system)
"""


def _python(text: str) -> str:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_cheap() -> None:
    runs = [json.loads(_python(_MEASURE)) for _ in range(3)]
    assert not set(HEAVY) & set(runs[0]["modules"])
    assert min(run["cpu_s"] for run in runs) <= IMPORT_CPU_S


def test_version_is_that_of_the_project() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nsight_suite", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"nsight-suite {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_cheap(verb: str) -> None:
    """The whole process, interpreter included; once in three runs, for a first one also compiles."""
    assert any(float(_python(f"VERB = {verb!r}\n{_HELP}")) <= HELP_CPU_S for _ in range(3))
