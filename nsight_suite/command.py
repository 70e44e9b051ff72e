"""What every command shares: a user's mistake ends with a message and a status, never with a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from nsight_suite.errors import SuiteError


def run_command(body: Callable[[], int]) -> int:
    """Run a command's body and return its exit status.

    0: fine; 1: the evidence disagrees; 2: could not measure or answer, or a wrong call; 130: interrupted.
    """
    try:
        return body()
    except SuiteError as error:
        print(f"nsight-suite: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("nsight-suite: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`); Python would complain again while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
