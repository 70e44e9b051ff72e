"""What every command shares: a user's mistake ends with a message and a status, never with a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper

from nsight_suite.errors import SuiteError
from nsight_suite.writing import way_out

_INSTALL = (
    "Install what the suite needs; in the checkout: python -m pip install . "
    "(with its extras: '.[cuda13]', '.[cuda12]', '.[ncu]', '.[arrow]')."
)


# What DuckDB makes of Ctrl-C while it works for the main thread.
_INTERRUPTED = "Query interrupted"


def run_command(body: Callable[[], int], *, unheard: int = 0) -> int:
    """Run a command's body and return its exit status.

    0: fine; 1: the evidence disagrees; 2: could not measure or answer, or a wrong call; 130: interrupted.
    `unheard` is the status where the reader of the output went away (`| head`) before the body had one: a gate
    must not say yes to what it has not looked at.
    """
    status = unheard
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # names of kernels go beyond what some terminals can show
            stream.reconfigure(errors="replace")
    try:
        if sys.stdout is None:
            raise SuiteError("Standard output is closed.", "Send it to /dev/null if it is not wanted.")
        status = body()
        sys.stdout.flush()
        return status
    except SuiteError as error:
        print(f"nsight-suite: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == __package__:
            raise  # a fault of the suite's own, which no installation mends
        print(f"nsight-suite: The package {error.name} is missing.\n  {_INSTALL}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, RuntimeError) as error:
        if isinstance(error, RuntimeError) and str(error) != _INTERRUPTED:
            raise
        print("nsight-suite: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_output()
        return status
    except OSError as error:
        _drop_output()
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        refusal = SuiteError(f"The system refused something: {what}.", way_out(error.errno))
        print(f"nsight-suite: {refusal}", file=sys.stderr)
        return 2


def _drop_output() -> None:
    """What is still to be printed goes nowhere: Python would fail over it again while it closes stdout."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
