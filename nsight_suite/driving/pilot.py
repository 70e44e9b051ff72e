"""What a pilot chooses: of each group of variants the one whose samples have the smallest median."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nsight_suite.driving.timing import Sample
from nsight_suite.protocol import Case


def choices(
    groups: Mapping[str, Sequence[str]], cases: Sequence[Case], samples: Sequence[Sample]
) -> Iterator[dict[str, Any]]:
    """Rows of `choice`, less the pass: each candidate of each group per submission, at the shape of `cases`.

    Of equal medians the candidate that the protocol names first is taken.
    """
    for group, variants in groups.items():
        for submission in dict.fromkeys(case.submission for case in cases):
            candidates = [
                case
                for variant in variants
                for case in cases
                if (case.variant, case.submission) == (variant, submission)
            ]
            medians = {case.variant: _median(case, samples) for case in candidates}
            chosen = min(medians, key=lambda variant: medians[variant], default=None)
            for case in candidates:
                yield {
                    "group_name": group,
                    "shape": case.shape.name,
                    "submission": submission,
                    "variant": case.variant,
                    "rounds": sum(sample.case_id == case.case_id for sample in samples),
                    "median_ns": medians[case.variant],
                    "chosen": case.variant == chosen,
                }


def _median(case: Case, samples: Sequence[Sample]) -> float:
    return float(statistics.median(s.duration_ns for s in samples if s.case_id == case.case_id))
