"""The runs that an article is held against, and what its bindings name in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from nsight_suite.claiming.binding import BindingError, Source
from nsight_suite.claiming.cells import taken
from nsight_suite.claiming.findings import AMBIGUOUS, UNKNOWN
from nsight_suite.claiming.runevidence import RunEvidence
from nsight_suite.claiming.values import Value
from nsight_suite.errors import UsageError
from nsight_suite.run import Run


class Evidence:
    """Open runs, by the names that a binding may call them: folder, run id."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """Raises UsageError when two runs share a name, CannotAnswer for a run without evidence."""
        for run in runs:
            _ = run.missing  # opens its evidence, or says why not
        self.runs = [RunEvidence(run) for run in runs]
        names = [one.name for one in self.runs]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise UsageError(
                f"Two of the runs are called '{twice}'.", "Give each once, and rename the folder of one."
            )

    @cached_property
    def device_names(self) -> Mapping[str, Collection[str]]:
        """The names of the GPUs of each run."""
        return {run.name: run.device_names for run in self.runs}

    def read(self, source: Source) -> Value:
        """The cell that a source names. Raises BindingError."""
        run, query, column = self._resolved(source)
        rows = [row for row in run.rows(query) if run.fits(row, query, source.where)]
        if not rows and source.take not in ("count", "distinct"):
            raise run.no_row(query, source.where)
        if source.take == "count" and not column:
            return Value((Fraction(len(rows)),), runs=(run.name,))
        run.require_column(query, column)
        return taken(run, query, column, rows, source)

    def _resolved(self, source: Source) -> tuple[RunEvidence, str, str]:
        """(run, query, column) of a source's parts; the column is empty where rows are counted."""
        parts = list(source.parts)
        named = next((run for run in self.runs if parts[0] in run.names), None)
        if named and not (len(parts) < 3 and parts[0] in named.queries):
            parts.pop(0)
        elif len(parts) == 3:
            known = ", ".join(run.name for run in self.runs)
            raise BindingError(UNKNOWN, f"No run '{parts[0]}' was given.", f"Given: {known}.")
        if not parts or (len(parts) == 1 and source.take != "count"):
            raise self._no_column(source, parts)
        run = named or self._only_run(parts)
        run.require_query(parts[0])
        return run, parts[0], parts[1] if len(parts) > 1 else ""

    def _only_run(self, parts: Sequence[str]) -> RunEvidence:
        if len(self.runs) == 1:
            return self.runs[0]
        known = ", ".join(run.name for run in self.runs)
        raise BindingError(
            AMBIGUOUS,
            f"'{'/'.join(parts)}' does not say of which run.",
            f"Write claim:RUN/QUERY/COLUMN; runs: {known}.",
        )

    def _no_column(self, source: Source, parts: Sequence[str]) -> BindingError:
        name = parts[0] if parts else source.parts[0]
        if any(name in run.queries for run in self.runs):
            return BindingError(AMBIGUOUS, f"'{source}' names no column.", f"Write claim:{name}/COLUMN?…")
        return BindingError(
            UNKNOWN,
            f"'{source}' is neither a value that the article defines nor a query with a column.",
            f"Define it ([{name}]: claim:QUERY/COLUMN?…), or write claim:QUERY/COLUMN?….",
        )
