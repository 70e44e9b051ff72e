"""Whether the machine's clock was set back during a run: as passes follow one another, so must times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from nsight_suite.evidence.notes import Doubt

CLOCK_SET_BACK = "clock-set-back"
# Starts are told in whole seconds.
_ROUNDING = timedelta(seconds=1)


def clock_doubts(records: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Doubt]]:
    """A doubt for each pass that by its times began before the one made ahead of it had ended.

    `records` are those of passes/, by name; one that does not tell ordinal, start and duration is left out.
    """
    timed = [(record["ordinal"], name, times) for name, record in records.items() if (times := _times(record))]
    for (_, earlier, (_, ended)), (_, later, (begun, _)) in pairwise(sorted(timed)):
        if begun + _ROUNDING < ended:
            seconds = round((ended - begun).total_seconds())
            reason = (
                f"By the machine's clock it began {seconds} s before the pass {earlier} had ended, which was "
                "made before it: the clock was set back. Durations do not depend on it; times of day, and "
                "what came first by them, do."
            )
            yield later, (CLOCK_SET_BACK, later, reason)


def _times(record: Mapping[str, Any]) -> tuple[datetime, datetime] | None:
    """When a pass began and when it ended, by its duration."""
    if not record.get("ordinal") or record["started_utc"] is None or record["duration_ns"] is None:
        return None
    try:
        begun = datetime.fromisoformat(record["started_utc"])
        begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
        return begun, begun + timedelta(microseconds=record["duration_ns"] // 1000)
    except (ValueError, OverflowError):
        return None
