"""Judge a run: do the profilers, the host's stopwatch and the expectations agree?

Exit status: 0 when every verdict is agreement or explained; 1 when any disagrees; 2 when none disagrees but
some cannot be answered.

    python -m nsight_suite.reconcile examples/row-h200
    python -m nsight_suite.reconcile examples/row-h200 --case row:fused:graph:4096x4096
    python -m nsight_suite.reconcile examples/row-h200 --json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nsight_suite.command import run_command
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import find_run

if TYPE_CHECKING:
    from nsight_suite.reconciliation import Reconciliation


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="nsight-suite reconcile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", metavar="RUN", help="a run folder, or a recorded run by its name")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="every finding, also plain agreement, as JSON")
    form.add_argument("--markdown", action="store_true", help="the table and the doubts as Markdown")
    parser.add_argument(
        "--case", action="append", metavar="CASE", help="show only this case; may be given again"
    )
    arguments = parser.parse_args(argv)
    return run_command(lambda: _reconcile(arguments), unheard=2)


def _reconcile(arguments: argparse.Namespace) -> int:
    from nsight_suite.reconciliation import reconcile_run, table

    run = RunFolder(find_run(arguments.run))
    run.refuse_ingested("is nothing to reconcile it with")
    reconciliation = reconcile_run(run)
    if (state := run.read_run().get("state")) != "complete":
        print(f"The run is {state}: judged is what its passes have left so far.", file=sys.stderr)
    shown = _only(reconciliation, arguments.case) if arguments.case else reconciliation
    if arguments.json:
        sys.stdout.write(table.to_json(shown))
    elif arguments.markdown:
        sys.stdout.write(table.to_markdown(shown))
    else:
        sys.stdout.write(table.render(shown, colour=sys.stdout.isatty()))
    return shown.exit_status


def _only(reconciliation: Reconciliation, case_ids: Sequence[str]) -> Reconciliation:
    """The verdicts of some cases, with what concerns the whole run."""
    known = [case.case_id for case in reconciliation.cases]
    if unknown := [name for name in case_ids if name not in known]:
        raise UsageError(f"The run has no case '{unknown[0]}'.", f"Its cases: {', '.join(known)}")
    return replace(
        reconciliation,
        cases=tuple(case for case in reconciliation.cases if case.case_id in case_ids),
        findings=tuple(one for one in reconciliation.findings if one.case_id in (None, *case_ids)),
    )


if __name__ == "__main__":
    sys.exit(main())
