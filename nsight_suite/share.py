"""`share RUN --out BUNDLE`: a copy of a run for others to check, without all that is private."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.command import run_command
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_experiment, find_run

if TYPE_CHECKING:
    from nsight_suite.sharing import Bundle

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}
_ABOUT = {
    False: "Its reports give the same evidence.",
    True: "It holds the evidence alone: the reports stay where they are.",
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite share",
        description="Copy a run so that it can be published and checked: reports reduced to what evidence is "
        "built from, without environment, paths, host, user or what the passes printed; evidence, verdicts, "
        "figures, report; and a manifest with the hash of every file, also of those left out. The GPU's name "
        "and UUID stay, and so do sources, compiler logs, PTX and machine code of the kernels. The copy gives "
        "the same evidence, and the same run gives the same bytes.",
    )
    parser.add_argument("run", metavar="RUN", help="the run folder")
    parser.add_argument(
        "--out",
        metavar="BUNDLE",
        required=True,
        type=Path,
        help="what to write, which does not exist yet: an archive when it ends in .zip, else a folder",
    )
    parser.add_argument(
        "--max-size",
        metavar="SIZE",
        help="25MB, 400KiB …: the largest size of the archive, or of the folder's files together; builds, "
        "pictures and the report stay behind as far as it takes",
    )
    parser.add_argument(
        "--without", metavar="PARTS", default="", help="do not make these: figures,report (or one of the two)"
    )
    parser.add_argument("--force", action="store_true", help="share a run that is not complete")
    parser.add_argument(
        "--experiment", metavar="PATH", help="folder of an experiment outside the project, for its own figures"
    )
    arguments = parser.parse_args(argv)
    return run_command(lambda: _share(arguments))


def _share(arguments: argparse.Namespace) -> int:
    from nsight_suite.sharing import Options, share

    run = RunFolder(find_run(arguments.run))
    options = Options(
        force=arguments.force,
        without=_parts(arguments.without),
        max_bytes=_bytes(arguments.max_size) if arguments.max_size else None,
        experiment=find_experiment(arguments.experiment) if arguments.experiment else None,
    )
    print("\n".join(_told(share(run, arguments.out, options), run.is_ingested())))
    return 0


def _told(bundle: Bundle, made_of_reports: bool) -> list[str]:
    files, left = len(bundle.manifest.files) + 1, bundle.manifest.left_out
    lines = [f"Wrote {bundle.path}: {files} files, {bundle.bytes / 1e6:.2f} MB. {_ABOUT[made_of_reports]}"]
    if left:
        size = sum(one.bytes for one in left) / 1e6
        lines.append(f"Left out, told with its hash in manifest.json: {len(left)} files, {size:.2f} MB.")
        large = [one for one in left if one.why.startswith("too large")]
        lines += [f"  too large: {one.path} ({one.bytes / 1e6:.2f} MB)" for one in large]
    lines.append("To be published beside it:")
    if bundle.sha256:
        lines.append(f"  SHA-256 {bundle.sha256}  {bundle.path.name}")
    lines.append(f"  SHA-256 {bundle.manifest_sha256}  manifest.json")
    return lines


def _parts(text: str) -> tuple[str, ...]:
    from nsight_suite.sharing.bundling import PARTS

    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if unknown := [part for part in parts if part not in PARTS]:
        raise UsageError(f"--without knows no '{unknown[0]}'.", f"Choose of: {', '.join(PARTS)}.")
    return parts


def _bytes(text: str) -> int:
    """Bytes from a size such as 25MB. Raises UsageError for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if not match or match[2] not in _UNITS:
        raise UsageError(f"'{text}' is no size.", "Give a number with a unit: 25MB, 400KiB, 1GB.")
    return int(Decimal(match[1]) * _UNITS[match[2]])


if __name__ == "__main__":
    sys.exit(main())
