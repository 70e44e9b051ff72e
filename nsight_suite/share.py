"""`share RUN --out DIR`: copy a run, leaving out all that is private."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nsight_suite.command import run_command
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_run

_ABOUT = {
    False: "Its reports give the same evidence.",
    True: "It holds the evidence alone: the reports stay where they are.",
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite share",
        description="Copy a run so that it can be published: reports reduced to what evidence is built from, "
        "without environment, paths, host, user or what the passes printed. The GPU's name and UUID stay, and "
        "so do sources, compiler logs, PTX and machine code of the kernels. The copy gives the same evidence.",
    )
    parser.add_argument("run", metavar="RUN", help="the run folder")
    parser.add_argument(
        "--out", metavar="DIR", required=True, type=Path, help="a folder that does not exist yet"
    )
    parser.add_argument("--force", action="store_true", help="share a run that is not complete")
    arguments = parser.parse_args(argv)
    return run_command(lambda: _share(arguments.run, arguments.out, arguments.force))


def _share(name: str, out: Path, force: bool) -> int:
    from nsight_suite.sharing import share

    run = RunFolder(find_run(name))
    shared = share(run, out, force=force)
    made_of_reports = run.is_ingested()
    files = [path for path in shared.path.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"Wrote {out}: {len(files)} files, {size / 1e6:.2f} MB. {_ABOUT[made_of_reports]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
