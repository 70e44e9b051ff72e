"""What a comparison says: one row per case and quantity, what stood in the way, and an exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

REGRESSED = "regressed"
IMPROVED = "improved"
WITHIN_NOISE = "within-noise"
INCOMPARABLE = "incomparable"
MISSING = "missing"
NEW = "new"
CHANGED = "changed"
UNCHANGED = "unchanged"

# From the gravest on, the order in which rows are shown and kinds are counted; each with a mark of its own, so
# that none is told by colour alone. docs/comparing.md says what each means.
VERDICTS: Mapping[str, str] = {
    REGRESSED: "✗",
    IMPROVED: "↑",
    MISSING: "−",
    NEW: "+",
    INCOMPARABLE: "?",
    CHANGED: "≠",
    WITHIN_NOISE: "≈",
    UNCHANGED: "✓",
}

Pairing = Literal["auto", "rounds", "none"]


@dataclass(frozen=True)
class Options:
    """How to compare.

    baseline    a variant by which completions are divided, round by round, inside each run; empty: by none
    threshold   the smallest relative change that matters, 0.02 for 2 %
    confidence  that all intervals together hold the true changes, 0.95
    pairing     auto: rounds pair when both runs ran them in the same order; rounds: by their number; none
    allow       codes of reasons that shall not keep anything from being compared
    cases       only these cases; empty: all
    """

    baseline: str = ""
    threshold: float = 0.02
    confidence: float = 0.95
    pairing: Pairing = "auto"
    allow: frozenset[str] = frozenset()
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A case (or a kernel of it, or the whole run) in one quantity, in run A and in run B.

    before, after  in `unit`; of times the median, or the mean of the medians of several sessions
    factor         after over before; low, high: its simultaneous interval; None for what is counted
    noise          how large a change noise can make, 0.02 for 2 %; noise_from tells what measured it
    how            how samples were compared, and how many there are
    chance         how often such an interval leaves 1 out though nothing changed
    reasons        codes of what keeps the row from being compared, joined by ', '
    """

    quantity: str
    case_id: str
    verdict: str
    before: float | int | str | None = None
    after: float | int | str | None = None
    unit: str = ""
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    noise: float | None = None
    noise_from: str = ""
    how: str = ""
    chance: float | None = None
    reasons: str = ""
    queries: tuple[str, ...] = ()

    @property
    def is_time(self) -> bool:
        """Whether the row is about times: what can regress by degrees."""
        return self.unit in ("ns", "1/baseline")

    @property
    def open(self) -> bool:
        """Whether the interval reaches beyond noise, so that a change that matters is not excluded."""
        return (
            self.verdict == WITHIN_NOISE
            and self.low is not None
            and self.high is not None
            and self.noise is not None
            and (self.high > 1 + self.noise or self.low < 1 / (1 + self.noise))
        )


@dataclass(frozen=True)
class Doubt:
    """Something in which two runs differ, or which is wrong with one of them.

    What it `blocks` is not compared: everything; or, where they are named, only what these passes tell and only
    this case. A doubt that was allowed blocks nothing, and is told.
    """

    code: str
    told: str
    blocks: bool
    passes: frozenset[str] | None = None
    case_id: str | None = None
    allowed: bool = False


@dataclass(frozen=True)
class Told:
    """One of the two runs: its name, and when and on what it was made."""

    run_id: str
    experiment: str
    created_utc: str
    state: str
    protocol_sha256: str | None
    devices: tuple[str, ...]
    drivers: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two runs, row by row. `repeats` names the further runs of A, `doubts` is in what the runs differ."""

    a: Told
    b: Told
    options: Options
    repeats: tuple[str, ...]
    doubts: tuple[Doubt, ...]
    rows: tuple[Row, ...]

    @property
    def judged(self) -> tuple[Row, ...]:
        """The rows of times that have a verdict."""
        return tuple(row for row in self.rows if row.chance is not None)

    @property
    def expected_false_alarms(self) -> float:
        """How many intervals may be expected to leave 1 out though nothing changed; noise is not yet asked."""
        return sum(row.chance or 0.0 for row in self.judged)

    def counts(self) -> dict[str, int]:
        """How many rows have each verdict, the gravest first; none that has none."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    def exit_status(self, fail_on: Sequence[str] = (REGRESSED,)) -> int:
        """1: a row has a verdict of `fail_on`; 2: none has, but no time could be compared; else 0."""
        if any(row.verdict in fail_on for row in self.rows):
            return 1
        return 0 if self.judged else 2


def in_table(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The gravest first; of one verdict times before counts, each in the order in which they came."""
    order = list(VERDICTS)
    return tuple(sorted(rows, key=lambda row: (order.index(row.verdict), not row.is_time)))


def as_data(comparison: Comparison, fail_on: Sequence[str]) -> dict[str, Any]:
    """The comparison as plain data, ready for JSON; numbers in base units."""
    options = comparison.options
    return {
        "format": 1,
        "exit_status": comparison.exit_status(fail_on),
        "fail_on": list(fail_on),
        "a": asdict(comparison.a),
        "b": asdict(comparison.b),
        "repeats_of_a": list(comparison.repeats),
        "baseline": options.baseline or None,
        "threshold": options.threshold,
        "confidence": options.confidence,
        "pairing": options.pairing,
        "expected_false_alarms": comparison.expected_false_alarms,
        "counts": comparison.counts(),
        "doubts": [
            {**asdict(doubt), "passes": sorted(doubt.passes) if doubt.passes is not None else None}
            for doubt in comparison.doubts
        ],
        "rows": [{**asdict(row), "queries": list(row.queries), "open": row.open} for row in comparison.rows],
    }
