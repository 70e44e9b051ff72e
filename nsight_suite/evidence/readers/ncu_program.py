"""An `ncu` on PATH prints a report's raw page into a temporary file."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nsight_suite.errors import BadReport
from nsight_suite.evidence.readers.ncu_refusals import refusal

_TIMEOUT_S = 1800
_MESSAGES = 4000


@contextmanager
def exported(ncu: str, report: Path) -> Iterator[Path]:
    """The raw page of a report in base units, as a file that goes when the block ends.

    Raises BadReport with what ncu said when it cannot read the report, or takes longer than half an hour.
    """
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / f"{report.stem}.csv"
        command = [ncu, "--import", str(report), "--csv", "--page", "raw", "--print-units", "base"]
        try:
            with page.open("wb") as output:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.PIPE,
                    timeout=_TIMEOUT_S,
                    check=False,
                    env={**os.environ, "LC_ALL": "C"},
                )
        except subprocess.TimeoutExpired as error:
            raise BadReport(
                f"{report.name}: ncu did not finish printing it within {_TIMEOUT_S // 60} minutes.",
                "Print it yourself, with --kernel-id or --launch-count to have less of it.",
            ) from error
        except OSError as error:
            raise BadReport(f"{report.name}: the ncu on PATH cannot be run: {error.strerror}.") from error
        if done.returncode:
            with page.open("rb") as output:
                said = output.read(_MESSAGES) + b"\n" + done.stderr[:_MESSAGES]
            raise refusal(said.decode("utf-8", "replace"), report.name)
        yield page
