"""The process that verifies: it tells each result as a line of JSON, and nothing else."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nsight_suite.errors import SuiteError
from nsight_suite.runfolder import RunFolder, sha256
from nsight_suite.sources import find_experiment
from nsight_suite.unpacking import LIMITS, unpack
from nsight_suite.verifying.telling import to_line
from nsight_suite.verifying.whole import CHECKS, subject_of, verify_run


def main(asked: Mapping[str, Any]) -> None:
    """Verify what is `asked` by `verify_confined`, within its limit of memory."""
    _limit(int(asked["memory_bytes"]))
    # What is told goes where the other process listens; what libraries print does not.
    told = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(line: str) -> None:
        print(line, file=told, flush=True)

    try:
        tell(json.dumps({"begun": True}))
        _verify(asked, tell)
        tell(json.dumps({"end": True}))
    except SuiteError as error:
        tell(json.dumps({"error": [error.what, error.way_out]}))


def _verify(asked: Mapping[str, Any], tell: Callable[[str], None]) -> None:
    path = Path(asked["path"])
    packed = path.is_file()
    if packed:
        path = unpack(path, Path(tempfile.mkdtemp(prefix="bundle-")))
    run = RunFolder(path)
    outside = find_experiment(asked["outside"]) if asked["outside"] else None
    subject = subject_of(run, is_bundle=packed, outside=outside)
    digest = sha256(run.manifest) if "manifest.json" in subject.files else None
    tell(json.dumps({"run_id": str(subject.info["run_id"]), "manifest_sha256": digest}))
    names = iter(CHECKS)
    tell(json.dumps({"begins": next(names)}))
    for check in verify_run(subject, asked["skip"]):
        tell(to_line(check))
        tell(json.dumps({"begins": next(names, "")}))


def _limit(memory_bytes: int) -> None:
    """No more memory than that, no file larger than a bundle, no dump of what was in memory."""
    for what, most in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_FSIZE, LIMITS.bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (allowed, allowed))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
