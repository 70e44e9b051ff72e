"""The driver's records: one JSON object a line, each with the columns of evidence/tables.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.tables import BLOCK, tables


class Records:
    """Writes the records of one pass. Every line is flushed: what was measured survives a crash."""

    def __init__(self, path: Path, pass_name: str) -> None:
        self._pass_name = pass_name
        try:
            self._file: TextIO = path.open("w", encoding="utf-8")
        except OSError as error:
            raise SuiteError(f"Cannot write the records {path}: {error.strerror}.") from error

    def __enter__(self) -> Records:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, table: str, **columns: Any) -> None:
        """One row of `table`; the pass is added. Columns left out are NULL.

        Raises ValueError for a table or column that the evidence does not have: the driver's author erred.
        """
        _check(table, columns)
        self._line({"table": table, "pass": self._pass_name, **columns})

    def write_block(self, table: str, columns: Mapping[str, Sequence[Any]], **same: Any) -> None:
        """Many rows of `table` in one line, column by column; `same` holds what is the same in all of them.

        For what comes by the thousands. Raises ValueError as `write` does, and for columns of unequal lengths.
        """
        _check(table, {**columns, **same})
        if len({len(values) for values in columns.values()}) > 1:
            raise ValueError(f"the columns for '{table}' have unequal lengths")
        self._line({"table": table, "pass": self._pass_name, **same, BLOCK: dict(columns)})

    def progress(self, done: int, total: int, what: str) -> None:
        """Say how far the pass is: `done` of `total` steps, and what is next."""
        self._line({"table": "_progress", "done": done, "total": total, "what": what})

    def end(self, reason: str | None = None) -> None:
        """The last line; a file without it was cut off. `reason` says why the pass failed."""
        self._line(
            {"table": "_end", "state": "failed", "reason": reason}
            if reason
            else {"table": "_end", "state": "ok"}
        )

    def _line(self, row: dict[str, Any]) -> None:
        # allow_nan=False: NaN is no JSON, and a reader would have to guess what it stands for.
        self._file.write(json.dumps(row, allow_nan=False) + "\n")
        self._file.flush()


def _check(table: str, columns: Mapping[str, Any]) -> None:
    declared = tables().get(table)
    if declared is None:
        raise ValueError(f"the evidence has no table '{table}'")
    if unknown := sorted(set(columns) - set(declared.column_names)):
        raise ValueError(f"table '{table}' has no column {', '.join(unknown)}")
