"""Two runs of one protocol against each other: what regressed, improved, is within noise or incomparable.

`judging` reads like a table of contents. `sides` and `series` are what is read of a run; `conditions` says what
keeps two runs from being compared, `timing` and `deciding` judge samples by `intervals` against `drift`,
`counted` judges what needs no statistics, `loose` runs that were made of reports. docs/comparing.md tells the
statistics, and why.
"""

from __future__ import annotations

from nsight_suite.comparing.judging import compare_runs
from nsight_suite.comparing.results import Comparison, Options, Row

__all__ = ["Comparison", "Options", "Row", "compare_runs"]
