"""A run from Python: its queries as frames, its findings as dataclasses, its figures and its report.

with nsight_suite.open_run("examples/row-h200") as run:
    run.query("kernel_counts")
    run.sql("SELECT name, count(*) AS n FROM kernel GROUP BY ALL ORDER BY ALL", as_="rows")
    run.reconcile().exit_status
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from nsight_suite.errors import UsageError
from nsight_suite.locking import locked
from nsight_suite.manifest import update_manifest
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import ExperimentSource, find_run, recorded_runs

if TYPE_CHECKING:
    import pandas as pd

    from nsight_suite.evidence.store import Store
    from nsight_suite.querying import Query, Result
    from nsight_suite.reconciliation.findings import Finding, Reconciliation
    from nsight_suite.reconciliation.inference import Measured

Rows = list[dict[str, Any]]


class Run:
    """An open run folder. Its evidence is read only; `figures` and `report` write where they say."""

    def __init__(self, folder: RunFolder, experiment: ExperimentSource | None = None) -> None:
        self.folder = folder
        self.experiment = experiment
        self.info: Mapping[str, Any] = folder.read_run()

    @classmethod
    def open(cls, path: str | Path, experiment: ExperimentSource | None = None) -> Self:
        """Open a run folder, or a recorded run by its name (`row-h200`).

        `experiment` adds the figures of an experiment that lies outside the project.
        Raises UsageError when there is no such run. One without evidence says so when it is asked.
        """
        return cls(RunFolder(find_run(path)), experiment)

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def output_path(self) -> Path:
        """Where figures and reports go unless told otherwise: the run folder, never the suite itself."""
        recorded = {run.resolve() for run in recorded_runs()}
        return Path("runs") / self.path.name if self.path.resolve() in recorded else self.path

    @cached_property
    def _store(self) -> Store:
        from nsight_suite.evidence.store import ensure_duckdb
        from nsight_suite.querying import open_evidence

        ensure_duckdb(self.folder)
        return open_evidence(self.folder)

    @property
    def missing(self) -> Mapping[str, str]:
        """Tables whose file is lost or damaged, each with the reason: a query that reads one is refused."""
        return self._store.missing

    def queries(self) -> list[Query]:
        """The named queries that this run can be asked, with their documentation."""
        from nsight_suite.querying import find_queries

        return find_queries(str(self.info["experiment"]))

    @overload
    def query(self, name: str) -> pd.DataFrame: ...
    @overload
    def query(self, name: str, *, as_: Literal["frame"]) -> pd.DataFrame: ...
    @overload
    def query(self, name: str, *, as_: Literal["rows"]) -> Rows: ...
    @overload
    def query(self, name: str, *, as_: Literal["arrow"]) -> Any: ...
    def query(self, name: str, *, as_: str = "frame") -> Any:
        """The rows of a named query, as a pandas frame, as a list of dictionaries or as an Arrow table.

        Integers stay exact and what is NULL stays missing in all three. Raises UsageError for an unknown name,
        and for `arrow` where pyarrow is not installed; CannotAnswer when a table that it reads is missing.
        """
        from nsight_suite.querying import run_named

        return _shaped(self._asked(lambda store: run_named(store, name, str(self.info["experiment"]))), as_)

    @overload
    def sql(self, text: str) -> pd.DataFrame: ...
    @overload
    def sql(self, text: str, *, as_: Literal["frame"]) -> pd.DataFrame: ...
    @overload
    def sql(self, text: str, *, as_: Literal["rows"]) -> Rows: ...
    @overload
    def sql(self, text: str, *, as_: Literal["arrow"]) -> Any: ...
    def sql(self, text: str, *, as_: str = "frame") -> Any:
        """The rows of a SELECT over the evidence; see `query`."""
        from nsight_suite.querying import run_sql

        return _shaped(self._asked(lambda store: run_sql(store, text)), as_)

    def _asked(self, ask: Callable[[Store], Result]) -> Result:
        """What the store answers; where the evidence was replaced since it was opened, one opened anew."""
        from nsight_suite.evidence.versions import EvidenceReplaced, of_one_version

        def work() -> Result:
            try:
                return ask(self._store)
            except EvidenceReplaced:
                self.close()
                raise

        return of_one_version(self.folder.evidence, work)

    def measured(
        self, quantity: str, case_id: str, *, caches: Literal["", "flushed", "warm"] = "", kernel: str = ""
    ) -> Measured:
        """A quantity of one case and how it was had, for the operations of `reconciliation.inference`.

        quantity  completion, device_busy, dram_read_bytes …; docs/inference.md has them all
        caches    flushed or warm, for what ncu counted
        kernel    name of the kernel or a part of it, for what is told per kernel and a case with several

        Raises UsageError for an unknown name, and CannotAnswer when the run does not hold the quantity.
        """
        from nsight_suite.evidence.versions import of_one_version
        from nsight_suite.reconciliation.measuring import CASES, measure

        def work() -> Measured:
            cases = {row["case_id"]: row for row in self.sql(CASES, as_="rows")}
            if case_id not in cases:
                raise UsageError(f"The run has no case '{case_id}'.", f"Its cases: {', '.join(cases)}.")
            return measure(lambda name: self.query(name, as_="rows"), cases[case_id], quantity, caches, kernel)

        return of_one_version(self.folder.evidence, work)

    def reconcile(self) -> Reconciliation:
        """Judge the run: a verdict for every case in every family, with the findings behind them."""
        from nsight_suite.reconciliation import reconcile_run

        self.folder.refuse_ingested("is nothing to reconcile it with")
        return reconcile_run(self.folder)

    @property
    def findings(self) -> Sequence[Finding]:
        return self.reconcile().findings

    def figures(self, names: Sequence[str] | None = None, folder: str | Path | None = None) -> list[Path]:
        """Draw the run's figures, all that its evidence allows or those named; returns the files written."""
        from nsight_suite.drawing import draw, write_drawings

        self.folder.refuse_ingested("are no cases to draw")
        target = Path(folder) if folder else self.output_path / "figures"
        with self._writing_to(target, "figures"):
            written = write_drawings(draw(self.folder, names, self.experiment), target)
            update_manifest(self.folder, written)
        return written

    def report(self, folder: str | Path | None = None) -> tuple[Path, Path]:
        """Write report.html and report.md and return their paths.

        The report of a run that was ingested has neither verdicts nor figures: no experiment declares any.
        """
        from nsight_suite.drawing import Drawn, draw
        from nsight_suite.evidence.versions import of_one_version
        from nsight_suite.reporting import write_report

        target = Path(folder) if folder else self.output_path

        def write() -> tuple[Path, Path]:
            if self.folder.is_ingested():
                return write_report(self.folder, None, Drawn((), {}), target)
            drawn = draw(self.folder, experiment=self.experiment)
            return write_report(self.folder, self.reconcile(), drawn, target)

        with self._writing_to(target, "report"):
            written = of_one_version(self.folder.evidence, write)
            update_manifest(self.folder, written)
        return written

    def _writing_to(self, target: Path, doing: str) -> AbstractContextManager[None]:
        """The lock of the run for what is written into it, else that of the folder that is written to."""
        inside = target.resolve().is_relative_to(self.path.resolve())
        return locked(self.path if inside else target, doing)

    def close(self) -> None:
        if store := self.__dict__.pop("_store", None):
            store.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"


def _shaped(result: Result, as_: str) -> Any:
    match as_:
        case "frame":
            return result.frame()
        case "rows":
            return result.records()
        case "arrow":
            return result.arrow()
    raise UsageError(f"There is no form '{as_}'.", "Choose frame, rows or arrow.")
