"""Writes what the documentation takes from the project itself: tables, queries, verdicts, times, figures.

    python docs/generate.py           write what is out of date
    python docs/generate.py --check   only name it; exit status 1 when there is any

Parts of README.md, docs/experiments.md and docs/measurements.md stand between `<!-- generated: NAME -->` and
`<!-- end -->`. They come from the recorded runs, with the H100 numbers of docs/published.csv beside them, and
from docs/kernels-h200.json, which benchmarks/kernels.py wrote.
"""

from __future__ import annotations

import csv
import importlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from nsight_suite import open_run  # noqa: E402
from nsight_suite.drawing import draw, write_drawings  # noqa: E402
from nsight_suite.evidence.tables import tables  # noqa: E402
from nsight_suite.querying import find_queries  # noqa: E402
from nsight_suite.reconciliation import reconcile_run  # noqa: E402
from nsight_suite.reconciliation.table import markdown_table  # noqa: E402
from nsight_suite.runfolder import RunFolder, write_text  # noqa: E402

# benchmarks/kernels.py, not the folder of kernels.
kernels: Any = importlib.import_module("kernels")

RECORDED = RunFolder(ROOT / "examples" / "row-h200")
FIGURES = ("row-completion", "profile-traffic")
IMAGES = ROOT / "docs" / "images"
README_SHAPE = "4096x4096"
_NOTE = "<!-- Written by docs/generate.py: do not edit. -->"


def texts() -> dict[Path, str]:
    """Every generated text, by the file that it belongs to."""
    found = {ROOT / "docs" / "evidence.md": evidence_page(), ROOT / "docs" / "queries.md": queries_page()}
    if RECORDED.path.is_dir():
        readme = ROOT / "README.md"
        found[readme] = with_part(
            readme.read_text(encoding="utf-8"), "verdicts", verdicts(RECORDED, README_SHAPE)
        )
    experiments = ROOT / "docs" / "experiments.md"
    text = experiments.read_text(encoding="utf-8")
    for run in sorted((ROOT / "examples").glob("*-h200")):
        text = with_part(text, run.name.removesuffix("-h200"), measured(run))
    measurements = ROOT / "docs" / "measurements.md"
    kernel_table = with_part(measurements.read_text(encoding="utf-8"), "kernels", measured_kernels())
    return {**found, experiments: text, measurements: kernel_table}


def measured(path: Path) -> str:
    """The medians of a recorded run beside the published ones; of `rms`, which has none, its own headline."""
    experiment = path.name.removesuffix("-h200")
    query = "headline" if experiment == "rms" else "host_completion"
    with open_run(path) as run:
        rows = run.query(query, as_="rows")
    table = _headline(rows) if experiment == "rms" else _beside(rows, _published(experiment))
    run_id = RunFolder(path).read_run()["run_id"]
    return f"{table}\n\nRun `{run_id}`: `python -m nsight_suite.query examples/{path.name} {query}`"


def measured_kernels() -> str:
    """The last table of benchmarks/kernels.py, experiment by experiment, and the goals of row/tuned."""
    document = json.loads((ROOT / "docs" / "kernels-h200.json").read_text(encoding="utf-8"))
    lines = [kernels.Line(**line) for line in document["lines"]]
    parts = []
    for name in kernels.EXPERIMENTS:
        of_it = [line for line in lines if line.experiment == name]
        parts.append(f"### {name}\n\n{kernels.table(of_it)}")
        if told := kernels.goals(of_it):
            parts.append("\n".join(f"- {text}" for text in told))
    return "\n\n".join(parts)


def _beside(rows: Iterable[Mapping[str, Any]], published: Mapping[tuple[str, str, str], float]) -> str:
    heads = ("shape", "variant", "submission", "published, H100 µs", "here, H200 µs", "H100 / H200")
    lines = []
    for row in rows:
        case = row["variant"], row["submission"], row["shape"]
        if case in published:
            theirs, ours = published[case], row["median_ns"] / 1e3
            lines.append((case[2], case[0], case[1], f"{theirs:.2f}", f"{ours:.2f}", f"{theirs / ours:.2f}"))
    return _table(heads, lines)


def _headline(rows: Iterable[Mapping[str, Any]]) -> str:
    heads = ("rows", "submission", "baseline µs", "local µs", "chosen form", "its µs", "local / chosen")
    lines = [
        (
            str(row["row_count"]),
            row["submission"],
            *(f"{row[name] / 1e3:.2f}" for name in ("baseline_ns", "local_ns")),
            row["mega"],
            f"{row['mega_ns'] / 1e3:.2f}",
            f"{row['ratio']:.2f}",
        )
        for row in rows
    ]
    return _table(heads, lines)


def _published(experiment: str) -> dict[tuple[str, str, str], float]:
    """Medians of host completion in µs by variant, submission and shape."""
    with (ROOT / "docs" / "published.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["variant"], row["submission"], row["shape"]): float(row["median_us"])
            for row in csv.DictReader(file)
            if row["experiment"] == experiment
        }


def evidence_page() -> str:
    parts = [
        _NOTE,
        "# Tables of the evidence",
        "One Parquet file each in `RUN/evidence/` and a commented view each in `RUN/evidence.duckdb`. Times "
        "are integers in nanoseconds, sizes integers in bytes. NULL means that a value could not be had; why "
        "stands in `finding`. Nothing missing is written as zero.",
    ]
    for table in tables().values():
        parts += [f"## {table.name}", _sentence(table.doc)]
        parts.append(
            _table(
                ("column", "type", "meaning and unit"), ((f"`{c.name}`", c.type, c.doc) for c in table.columns)
            )
        )
    return "\n\n".join(parts) + "\n"


def queries_page() -> str:
    parts = [
        _NOTE,
        "# Named queries",
        "`python -m nsight_suite.query RUN NAME` runs one, `run.query(NAME)` does it from Python, and the same "
        "file runs in the DuckDB shell, started in the run's folder: `cd RUN && duckdb evidence.duckdb` (its "
        "views name the Parquet files from there). Each is a file in `queries/common/`; an experiment's, in "
        "`queries/EXPERIMENT/`, come before common ones of the same name.",
    ]
    for query in find_queries():
        parts += [f"## {query.name}", query.about]
        parts.append(
            _table(
                ("column", "meaning and unit"), ((f"`{name}`", text) for name, text in query.columns.items())
            )
        )
        parts += [query.notes] if query.notes else []
    return "\n\n".join(parts) + "\n"


def verdicts(run: RunFolder, shape: str) -> str:
    """The verdict table of a run at one shape, with the command that gives the whole one."""
    reconciliation = reconcile_run(run)
    shown = replace(
        reconciliation,
        cases=tuple(case for case in reconciliation.cases if case.case_id.endswith(f":{shape}")),
    )
    command = f"python -m nsight_suite.reconcile examples/{run.path.name}"
    count = f"{len(shown.cases)} of {len(reconciliation.cases)} cases"
    return f"{markdown_table(shown)}\n\nRun `{reconciliation.run_id}`, {count}; all: `{command}`"


def with_part(text: str, name: str, content: str) -> str:
    """`text` with the part between its two marks written anew."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    changed, count = pattern.subn(lambda match: f"{match[1]}{content}\n{match[2]}", text)
    if count != 1:
        raise ValueError(f"there are {count} parts called '{name}'")
    return changed


def stale_images() -> list[str]:
    """Figures whose evidence, queries or drawing code are not those that the picture was made with."""
    stale = []
    for drawing in draw(RECORDED, FIGURES).drawings if RECORDED.path.is_dir() else ():
        name = drawing.source.name
        path = IMAGES / f"{name}.provenance.json"
        made = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        # Another matplotlib draws other bytes from the same numbers; that does not make a picture wrong.
        if any(made.get(key) != drawing.provenance[key] for key in ("source", "queries", "inputs")):
            stale.append(name)
    return stale


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [
        heads,
        tuple("---" for _ in heads),
        *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def main(check: bool) -> int:
    stale = {
        path: text for path, text in texts().items() if not path.is_file() or path.read_text("utf-8") != text
    }
    images = stale_images()
    for name in (*(str(path.relative_to(ROOT)) for path in stale), *images):
        print(f"{'out of date' if check else 'written'}: {name}")
    if check:
        return 1 if stale or images else 0
    for path, text in stale.items():
        write_text(path, text)
    if images:
        write_drawings(draw(RECORDED, images), IMAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
