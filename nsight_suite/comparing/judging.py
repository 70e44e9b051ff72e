"""Two run folders → their comparison."""

from __future__ import annotations

from collections.abc import Sequence

from nsight_suite.comparing.conditions import REASONS, doubts_between, in_order, remark
from nsight_suite.comparing.counted import judge_counts
from nsight_suite.comparing.loose import compare_loose, read_loose
from nsight_suite.comparing.results import (
    CHANGED,
    IMPROVED,
    MISSING,
    NEW,
    REGRESSED,
    Comparison,
    Doubt,
    Options,
    Row,
    in_table,
)
from nsight_suite.comparing.sides import Side, read_side
from nsight_suite.comparing.timing import host_unknown, judge_times, moved_together
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import RunFolder


def compare_runs(
    a: RunFolder, b: RunFolder, options: Options | None = None, repeats: Sequence[RunFolder] = ()
) -> Comparison:
    """Compare run `b` with run `a`. `repeats` are further runs of what `a` ran: whatever moved there is noise.

    Raises UsageError for runs of different experiments and for a variant, case or reason that is not known;
    CannotAnswer when a run holds no evidence.
    """
    options = options or Options()
    if unknown := options.allow - REASONS.keys():
        raise UsageError(f"There is no reason '{min(unknown)}'.", f"Reasons: {', '.join(REASONS)}.")
    experiments = [str(run.read_run()["experiment"]) for run in (a, b, *repeats)]
    for run, experiment in zip((b, *repeats), experiments[1:], strict=True):
        if experiment != experiments[0]:
            raise UsageError(
                f"{a.path} is a run of {_named(experiments[0])}, {run.path} one of {_named(experiment)}.",
                "Only runs of one experiment can be compared. Each by itself: query RUN host_completion.",
            )
    if not experiments[0]:
        return compare_loose(read_loose(a), read_loose(b), options, [read_loose(run) for run in repeats])
    _refuse_unknown(options, a.read_run()["cases"], b.read_run()["cases"])
    again = [read_side(run, with_verdicts=False) for run in repeats]
    return compare_sides(read_side(a), read_side(b), options, again)


def compare_sides(a: Side, b: Side, options: Options, repeats: Sequence[Side] = ()) -> Comparison:
    """A pure function of what two captured runs hold."""
    wanted = [case_id for case_id in {**a.cases, **b.cases} if case_id in options.cases or not options.cases]
    shared = [case_id for case_id in wanted if case_id in a.cases and case_id in b.cases]
    doubts = [*doubts_between(a, b, options.allow), *host_unknown(a, b), *_of_repeats(a, repeats)]
    rows = [_unmatched(case_id, a) for case_id in wanted if case_id not in shared]
    rows += judge_times(a, b, shared, doubts, options, repeats=repeats)
    rows += judge_counts(a, b, shared, doubts, options.threshold)
    doubts += moved_together(rows, a.cases, options.threshold)
    doubts += _of_baseline(a, rows, options.baseline)
    return Comparison(
        a.told, b.told, options, tuple(one.told.run_id for one in repeats), in_order(doubts), in_table(rows)
    )


def _unmatched(case_id: str, a: Side) -> Row:
    """The one row of a case that one of the runs does not have at all."""
    return Row("case", case_id, MISSING if case_id in a.cases else NEW, queries=("kernel_counts",))


def _refuse_unknown(options: Options, ours: Sequence[str], theirs: Sequence[str]) -> None:
    """Before anything is read: whether the cases and the variant that were asked for are those of the runs."""
    if unknown := [name for name in options.cases if name not in {*ours, *theirs}]:
        known = ", ".join(dict.fromkeys([*ours, *theirs]))
        raise UsageError(f"Neither run has a case '{unknown[0]}'.", f"Their cases: {known}")
    variants = dict.fromkeys(case_id.split(":")[1] for case_id in ours)
    if options.baseline and options.baseline not in variants:
        raise UsageError(f"Run A has no variant '{options.baseline}'.", f"Its variants: {', '.join(variants)}.")


def _of_repeats(a: Side, repeats: Sequence[Side]) -> list[Doubt]:
    """What keeps a repeat from telling the noise of A."""
    found = []
    for repeat in repeats:
        told = [doubt for doubt in doubts_between(a, repeat, ()) if doubt.blocks or doubt.code == "same-run"]
        found += [
            remark("doubtful-repeat", f"{repeat.told.run_id} as a repeat of A: {doubt.told}", doubt.passes)
            for doubt in told
        ]
    return found


def _of_baseline(a: Side, rows: Sequence[Row], baseline: str) -> list[Doubt]:
    """Whether the baseline itself is another than before, which moves all that is divided by it."""
    if not baseline:
        return []
    its_kernels = {
        f"{row['source']}:{row['kernel']}"
        for row in a.rows["same_binary"]
        if baseline in row["variants"].split(", ")
    }
    changed = [
        row
        for row in rows
        if row.quantity == "machine_code" and row.verdict == CHANGED and row.case_id in its_kernels
    ]
    moved = [
        row.case_id for row in rows if row.quantity == "completion" and row.verdict in (REGRESSED, IMPROVED)
    ]
    told = "The baseline's own machine code changed: what is divided by it may have moved for that alone."
    found = [remark("baseline-changed", told)] if changed else []
    if moved:
        told = (
            f"The baseline's own completion moved in {len(moved)} cases: all that is divided by it shows that."
        )
        found.append(remark("baseline-moved", told))
    return found


def _named(experiment: str) -> str:
    return f"'{experiment}'" if experiment else "loose reports"
