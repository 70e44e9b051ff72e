"""Results as text: table, csv, json, md; and as a Parquet file.

Integers stay exact everywhere. NULL is null in JSON, empty in CSV, and a dash in tables: it is never zero.
"""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from pathlib import Path
from typing import Any

from nsight_suite.errors import SuiteError, first_line
from nsight_suite.querying.asking import Result
from nsight_suite.runfolder import replacing

_MISSING = "–"
# Kernel names of templates fill screens; every format but the table has them whole.
_WIDEST = 60
_BY_SUFFIX = {".csv": "csv", ".json": "json", ".md": "md", ".parquet": "parquet"}


def format_for(path: Path | None) -> str:
    """The format that a file's name asks for; a table for anything else and for the terminal."""
    return _BY_SUFFIX.get(path.suffix.lower(), "table") if path else "table"


def as_text(result: Result, form: str) -> str:
    """The result as table, csv, json or md, ending in a line break."""
    match form:
        case "csv":
            return _csv(result)
        case "json":
            records = [{name: _json(value) for name, value in row.items()} for row in result.records()]
            return json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    from tabulate import tabulate

    rows = [[_cell(value, form) for value in row] for row in result.rows]
    numeric = ["right" if _numeric(kind) else "left" for kind in result.types]
    # Numbers are text already: tabulate would turn large integers into floats.
    return (
        tabulate(
            rows,
            headers=[_shown(name, form) for name in result.columns],
            tablefmt="github" if form == "md" else "simple",
            disable_numparse=True,
            colalign=numeric if rows else None,
        )
        + "\n"
    )


def write_parquet(result: Result, path: Path) -> None:
    """Write the result to a Parquet file with the types of the query, whole or not at all."""
    from nsight_suite.evidence.store import DatabaseError, append, empty_store

    columns = dict(zip(result.columns, result.types, strict=True))
    with empty_store() as connection, replacing(path) as temporary:
        declared = ", ".join(f'"{_doubled(name)}" {kind}' for name, kind in columns.items())
        connection.execute(f"CREATE TABLE answer ({declared})")
        rows = ({name: _plain(value) for name, value in row.items()} for row in result.records())
        append(connection, "answer", columns, rows)
        target = str(temporary).replace("'", "''")
        try:
            connection.execute(f"COPY answer TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
        except DatabaseError as error:
            raise SuiteError(f"Cannot write {path}: {first_line(error)}") from error


def _csv(result: Result) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows([["" if value is None else _compact(value) for value in row] for row in result.rows])
    return text.getvalue()


def _cell(value: Any, form: str) -> str:
    text = _MISSING if value is None else _shown(str(_compact(value)), form)
    return f"{text[: _WIDEST - 1]}…" if form == "table" and len(text) > _WIDEST else text


def _shown(text: str, form: str) -> str:
    """Text on one line that no terminal obeys (ESC, NUL, marks of direction) and no table breaks at."""
    shown = "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char).startswith("C") else char
        for char in text.replace("\n", " ")
    )
    return shown.replace("|", "\\|") if form == "md" else shown


def _compact(value: Any) -> Any:
    """Lists and structures as JSON on one line; anything else as it is."""
    return json.dumps(_json(value), ensure_ascii=False) if isinstance(value, list | tuple | dict) else value


def _json(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case list() | tuple():
            return [_json(item) for item in value]
        case dict():
            return {str(key): _json(item) for key, item in value.items()}
    return str(value)


def _plain(value: Any) -> Any:
    """Like JSON, but infinities and NaN travel as text, which DuckDB reads back as numbers."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else _json(value)


def _numeric(kind: str) -> bool:
    return (
        kind.endswith("INT") or kind in ("INTEGER", "UINTEGER", "FLOAT", "DOUBLE") or kind.startswith("DECIMAL")
    )


def _doubled(name: str) -> str:
    return name.replace('"', '""')
