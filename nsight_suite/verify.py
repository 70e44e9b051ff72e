"""Verify a run or bundle that comes from anybody: re-hash, rebuild, recompute, re-judge, redraw, and compare.

Exit status: 0 when all that could be checked holds; 1 when something does not; 2 when it cannot be verified.

    python -m nsight_suite.verify bundle.zip
    python -m nsight_suite.verify examples/row-h200 --skip figures
    python -m nsight_suite.verify bundle.zip --sha256 2c26b46b…
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.command import run_command
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import write_json
from nsight_suite.sources import find_run

if TYPE_CHECKING:
    from nsight_suite.verifying import Check

_SECONDS, _MEMORY_GB = 900.0, 8.0
_MOST = 1_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Print each check as it is done, then what all come to; the exit status is that of a gate."""
    parser = argparse.ArgumentParser(
        prog="nsight-suite verify", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "run", metavar="RUN", help="a run folder, a bundle (.zip), or a recorded run by its name"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything that was found as JSON")
    parser.add_argument(
        "--skip", metavar="CHECK", action="append", default=[], help="leave a check out; may be given again"
    )
    parser.add_argument(
        "--sha256",
        metavar="HEX",
        help="what was published: the SHA-256 of the archive, or of its manifest.json",
    )
    parser.add_argument(
        "--experiment",
        metavar="PATH",
        default="",
        help="folder of an experiment outside the project, for its figures",
    )
    parser.add_argument(
        "--seconds", type=float, default=_SECONDS, help=f"time that it may take (default: {_SECONDS:g})"
    )
    parser.add_argument(
        "--memory", metavar="GB", type=float, default=_MEMORY_GB, help=f"memory (default: {_MEMORY_GB:g})"
    )
    arguments = parser.parse_args(argv)
    return run_command(lambda: _verify(arguments), unheard=2)


def _verify(arguments: argparse.Namespace) -> int:
    from nsight_suite.verifying.confined import Allowed, verify_confined
    from nsight_suite.verifying.published import published
    from nsight_suite.verifying.telling import as_data, check_lines, closing_lines
    from nsight_suite.verifying.whole import CHECKS

    if unknown := [name for name in arguments.skip if name not in CHECKS]:
        raise UsageError(f"There is no check '{unknown[0]}'.", f"The checks: {', '.join(CHECKS)}.")
    digest = arguments.sha256 and arguments.sha256.strip().lower()
    if digest is not None and not re.fullmatch("[0-9a-f]{64}", digest):
        raise UsageError(
            f"'{arguments.sha256}' is no SHA-256.", "Give all 64 hexadecimal digits that were published."
        )
    if not 0 < arguments.seconds <= _MOST or not 0 < arguments.memory <= _MOST:
        raise UsageError(
            f"--seconds and --memory are above 0 and at most {_MOST:,}.",
            f"Without them it is {_SECONDS:g} s and {_MEMORY_GB:g} GB.",
        )

    def told(check: Check) -> None:
        print("\n".join(check_lines(check)), flush=True)

    allowed = Allowed(arguments.seconds, int(arguments.memory * 1e9))
    verification = verify_confined(_found(arguments.run), arguments.skip, allowed, arguments.experiment, told)
    if digest is not None:
        check = published(verification, digest)
        told(check)
        verification = replace(verification, checks=(*verification.checks, check))
    print("\n".join(closing_lines(verification)))
    if arguments.json:
        write_json(arguments.json, as_data(verification))
    return verification.exit_status


def _found(name: str) -> Path:
    """An archive by its path; else a run folder."""
    path = Path(name)
    return path if path.is_file() else find_run(name)


if __name__ == "__main__":
    sys.exit(main())
