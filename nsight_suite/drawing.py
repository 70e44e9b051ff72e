"""Figures from evidence: runs the queries of the figure modules and writes what they draw, with its provenance.

Each figure becomes a PNG, an SVG and a JSON that says where every number came from. The same evidence, queries
and matplotlib give the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite import __version__, figurestyle
from nsight_suite.errors import CannotAnswer, UsageError
from nsight_suite.evidence.store import Store
from nsight_suite.evidence.versions import EvidenceReplaced, of_one_version
from nsight_suite.figurefiles import FigureSource, figure_sources
from nsight_suite.querying import open_evidence, query_text, run_sql
from nsight_suite.querying.formats import as_text
from nsight_suite.runfolder import RunFolder, json_text, replacing, sha256, text_sha256
from nsight_suite.sources import ExperimentSource, data_root
from nsight_suite.writing import sync

_LOG = logging.getLogger(__name__)
_DPI = 200
# What the bytes of a figure depend on, beside what it is drawn from.
_LIBRARIES = ("duckdb", "matplotlib", "numpy", "pandas", "pillow")


@dataclass(frozen=True)
class Drawing:
    """A drawn figure: its two files as bytes, and where every number in it came from."""

    source: FigureSource
    svg: bytes
    png: bytes
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """The figures of a run, and why those that are missing could not be drawn, by name."""

    drawings: tuple[Drawing, ...]
    left_out: Mapping[str, str]


def draw(
    run: RunFolder, names: Sequence[str] | None = None, experiment: ExperimentSource | None = None
) -> Drawn:
    """Draw figures of a run without writing anything.

    Without `names` every figure for the run's experiment is drawn, and those whose evidence is missing are left
    out. `experiment` adds the figures of an experiment that lies outside the project.
    Raises CannotAnswer when a figure asked for by name cannot be drawn, UsageError for an unknown name.
    """
    info = run.read_run()
    sources = figure_sources(experiment or str(info["experiment"]))
    for name in names or ():
        if name not in (known := [source.name for source in sources]):
            raise UsageError(
                f"There is no figure '{name}' for '{info['experiment']}'.", f"Its figures: {', '.join(known)}."
            )
    return of_one_version(run.evidence, lambda: _drawn(run, names, sources, info))


def _drawn(
    run: RunFolder, names: Sequence[str] | None, sources: Sequence[FigureSource], info: Mapping[str, Any]
) -> Drawn:
    drawings, left_out = [], {}
    store, inputs = open_evidence(run), _inputs(run)
    with store.connection:
        for source in sources:
            if names is not None and source.name not in names:
                continue
            try:
                drawings.append(_draw(store, source, info, inputs))
            except EvidenceReplaced:
                raise
            except CannotAnswer as error:
                if names is not None:
                    raise
                left_out[source.name] = error.what
    return Drawn(tuple(drawings), left_out)


def write_drawings(drawn: Drawn, folder: Path) -> list[Path]:
    """Write NAME.png, NAME.svg and NAME.provenance.json of each figure; returns the paths.

    No file is replaced before all of them could be written. A figure that was left out is told in the log.
    """
    files: dict[Path, bytes] = {}
    for drawing in drawn.drawings:
        stem = drawing.source.name
        pictures = {f"{stem}.png": drawing.png, f"{stem}.svg": drawing.svg}
        outputs = [
            {"path": name, "sha256": hashlib.sha256(content).hexdigest()} for name, content in pictures.items()
        ]
        provenance = json_text({**drawing.provenance, "outputs": outputs}).encode(errors="replace")
        files |= {folder / name: content for name, content in pictures.items()}
        files[folder / f"{stem}.provenance.json"] = provenance
    with ExitStack() as written:
        for path, content in files.items():
            temporary = written.enter_context(replacing(path))
            temporary.write_bytes(content)
            sync(temporary)
    for name, reason in drawn.left_out.items():
        _LOG.warning("nsight-suite: figure %s is left out: %s", name, reason)
    return list(files)


def _draw(store: Store, source: FigureSource, info: Mapping[str, Any], inputs: list[dict[str, str]]) -> Drawing:
    import matplotlib as mpl

    run_id = str(info["run_id"])
    texts = {
        key: query_text(query, str(info["experiment"])) if source.is_named(key) else query
        for key, query in source.queries.items()
    }
    answers = {key: run_sql(store, text) for key, text in texts.items()}
    tables = {key: answer.frame() for key, answer in answers.items()}
    digest = text_sha256("".join(entry["sha256"] for entry in inputs))
    marks = {"Title": source.name, "Source": f"run {run_id}, evidence {digest}"}
    with mpl.rc_context():
        mpl.rcdefaults()  # the user's own settings must not change a figure
        mpl.rcParams.update(figurestyle.RC)
        figure = source.draw(tables)
        figure.draw_without_rendering()  # lays the figure out once, for both files
        figure.set_layout_engine("none")
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={**marks, "Date": None})
        figure.savefig(png, format="png", dpi=_DPI, metadata=marks)
    provenance = {
        "figure": source.name,
        "about": source.about,
        "run_id": run_id,
        "suite_version": __version__,
        "libraries": {
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
            "freetype": mpl.ft2font.__freetype_version__,
        },
        "source": {"path": f"figures/{source.path.name}", "sha256": sha256(source.path)},
        "configuration": {
            "protocol_sha256": info.get("protocol_sha256"),
            "style_sha256": sha256(Path(figurestyle.__file__)),
            "dots_per_inch": _DPI,
        },
        "queries": [
            {
                "key": key,
                "name": query if source.is_named(key) else None,
                "sha256": text_sha256(texts[key]),
                "sql": texts[key],
            }
            for key, query in source.queries.items()
        ],
        # Hashed as CSV: those of a named query are the same as the run's summaries/NAME.csv.
        "rows": [
            {"key": key, "rows": len(answer.rows), "sha256": text_sha256(as_text(answer, "csv"))}
            for key, answer in answers.items()
        ],
        "inputs": inputs,
    }
    return Drawing(source, svg.getvalue(), png.getvalue(), provenance)


def _inputs(run: RunFolder) -> list[dict[str, str]]:
    """Everything that an answer depends on beside the query: evidence, expectations and the shared views."""
    views = sorted((data_root() / "queries" / "views").glob("*.sql"))
    return [
        *(
            {"path": f"evidence/{path.name}", "sha256": sha256(path)}
            for path in sorted(run.evidence.glob("*.parquet"))
        ),
        *(
            {"path": "protocol/expected.sql", "sha256": sha256(run.expected)}
            for _ in range(run.expected.is_file())
        ),
        *({"path": f"queries/views/{path.name}", "sha256": sha256(path)} for path in views),
    ]
