"""Answers as text: table, csv, json, md. The second and the third hold no more than a batch of rows.

Integers stay exact everywhere. NULL is null in JSON, empty in CSV, and a dash in tables: it is never zero.
"""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nsight_suite.errors import UsageError
from nsight_suite.querying.asking import Answer, Result
from nsight_suite.querying.shortening import shortened

_MISSING = "–"
# Kernel names of templates fill screens; every format but the table has them whole.
_WIDEST = 60
_ALIGNED = ("table", "md")
_MOST_ROWS = 100_000
# Unicode's categories of what terminals obey, or break a line at.
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_FLAT = ("VARCHAR", "BOOLEAN")
_BY_SUFFIX = {".csv": "csv", ".json": "json", ".md": "md", ".parquet": "parquet", ".txt": "table"}


def format_for(path: Path | None, asked: str | None = None) -> str:
    """The format that was asked for, else the one that the file's name asks for, else a table.

    Raises UsageError for a file name that says something else than was asked, or that no format goes by.
    """
    suffix = path.suffix.lower() if path else ""
    if not path or not suffix:
        return asked or "table"
    if suffix not in _BY_SUFFIX:
        raise UsageError(
            f"No format of answers is called '{suffix}'.",
            f"Name the file {', '.join(f'{path.stem}{known}' for known in _BY_SUFFIX)}, or without a suffix.",
        )
    named = _BY_SUFFIX[suffix]
    if asked in (None, named) or (suffix == ".txt" and asked != "parquet"):
        return asked or named
    right = next(known for known, form in _BY_SUFFIX.items() if form == asked)
    raise UsageError(
        f"'{path.name}' would be {named} by its name, and --format says {asked}.",
        f"Name it {path.stem}{right}, or leave --format away.",
    )


def prepare(form: str) -> None:
    """Import what the format needs, at a moment when there is time for it."""
    if form in _ALIGNED:
        import tabulate  # noqa: F401


def as_text(result: Result, form: str) -> str:
    """The result as table, csv, json or md, ending in a line break."""
    return "".join(pieces(Answer(result.columns, result.types, iter([list(result.rows)])), form))


def pieces(answer: Answer, form: str) -> Iterator[str]:
    """The answer as table, csv, json or md, piece by piece; the last ends in a line break.

    Raises UsageError for a table (or md) of more than 100,000 rows, and what the answer's batches raise.
    """
    match form:
        case "csv":
            return _csv(answer)
        case "json":
            return _json_array(answer)
    return iter([_table(answer, form)])


def _table(answer: Answer, form: str) -> str:
    """Column widths are those of the widest cell, so all rows are held."""
    from tabulate import tabulate

    rows: list[list[str]] = []
    for batch in answer.batches:
        if len(rows) + len(batch) > _MOST_ROWS:
            raise UsageError(
                f"The answer has more than {_MOST_ROWS:,} rows, too many for a table.",
                "Add --format csv (or json; or --out FILE.parquet), or ask for fewer: --sql with LIMIT.",
            )
        rows += ([_cell(value, form) for value in row] for row in batch)
    numeric = ["right" if _numeric(kind) else "left" for kind in answer.types]
    # Numbers are text already: tabulate would turn large integers into floats.
    return (
        tabulate(
            rows,
            headers=[_shown(name, form) for name in answer.columns],
            tablefmt="github" if form == "md" else "simple",
            disable_numparse=True,
            colalign=numeric if rows else None,
        )
        + "\n"
    )


def _csv(answer: Answer) -> Iterator[str]:
    yield _lines([answer.columns])
    # The writer leaves None empty and writes numbers as Python does; only what is nested is not for it.
    flat = all(_numeric(kind) or kind in _FLAT for kind in answer.types)
    for batch in answer.batches:
        yield _lines(batch if flat else ([_compact(value) for value in row] for row in batch))


def _lines(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _json_array(answer: Answer) -> Iterator[str]:
    opening = "["
    for batch in answer.batches:
        records = [dict(zip(answer.columns, map(_json, row), strict=True)) for row in batch]
        array = json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False)
        yield opening + array[1:-2]  # without its brackets, and the line break before the last
        opening = ","
    yield "\n]\n" if opening == "," else "[]\n"


def _cell(value: Any, form: str) -> str:
    if isinstance(value, int | float):
        return str(value)
    text = _MISSING if value is None else _shown(str(_compact(value)), form)
    return shortened(text, _WIDEST) if form == "table" else text


def _shown(text: str, form: str) -> str:
    """Text on one line that no terminal obeys (ESC, NUL, marks of direction) and no table breaks at."""
    shown = text
    if not text.isprintable():  # as hardly any is
        shown = "".join(
            char.encode("unicode_escape").decode() if unicodedata.category(char) in _OBEYED else char
            for char in text.replace("\n", " ")
        )
    # A renderer takes the arguments of a template for a tag, and shows none.
    return shown.replace("|", "\\|").replace("<", "\\<") if form == "md" else shown


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


def _numeric(kind: str) -> bool:
    return (
        kind.endswith("INT") or kind in ("INTEGER", "UINTEGER", "FLOAT", "DOUBLE") or kind.startswith("DECIMAL")
    )
