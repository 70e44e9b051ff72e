"""Imports point one way, as docs/architecture.md says. Read from the syntax trees: nothing is imported here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Each layer may import the layers above it in this list; the members of one layer do not know one another.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "runshape", "tomltable"}),
    frozenset({"writing", "unpacking"}),
    frozenset({"sources", "runfolder", "locking", "command", "versions"}),
    frozenset({"protocol", "manifest"}),
    frozenset({"plan"}),
    frozenset({"evidence", "capturing"}),
    frozenset({"driving", "querying", "ingesting", "scanning"}),
    frozenset({"reconciliation", "figurefiles", "figurestyle"}),
    frozenset({"drawing", "comparing"}),
    frozenset({"reporting"}),
    frozenset({"sealing"}),
    frozenset({"sharing", "verifying"}),
    frozenset({"run"}),
    frozenset({"claiming"}),
    frozenset(
        {
            *("capture", "ingest", "scan", "share", "doctor", "list"),
            *("query", "reconcile", "figures", "report", "verify", "compare", "claims"),
        }
    ),
    frozenset({"__init__", "__main__"}),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# The toolkit of a driver runs in the driver's process; of the suite it knows the words, not the machinery.
DRIVING_KNOWS = {"errors", "sources", "runfolder", "versions", "protocol", "plan", "evidence.tables"}

# Who may import what is heavy or needs a GPU; a place is a file or a folder.
RESERVED = {
    "duckdb": ("nsight_suite/evidence/",),
    "matplotlib": ("nsight_suite/drawing.py", "figures/"),
    **dict.fromkeys(
        ("cupy", "cupyx", "cupy_backends", "cuda", "nvtx", "pynvml"),
        ("nsight_suite/driving/", "capture/", "kernels/"),
    ),
}
# Started by their command line, found by their path: never imported.
NEVER = ("capture", "kernels", "figures", "driver", "nsight_suite.driving")


def violations(root: Path) -> list[str]:
    """Every import under `root` that points the wrong way, as `file:line: what`."""
    found = []
    for folder in ("nsight_suite", "capture", "figures", "kernels", "queries"):
        for path in sorted((root / folder).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            for line, module, for_types in _imports(path, place):
                found += [f"{place}:{line}: {what}" for what in _judge(place, module, for_types)]
    return found


def _judge(place: str, module: str, for_types: bool) -> Iterator[str]:
    top = module.partition(".")[0]
    if top in RESERVED and not for_types and not place.startswith(RESERVED[top]):
        yield f"imports {top}, which only {', '.join(RESERVED[top])} may"
    if _inside(module, NEVER) and not place.startswith(("nsight_suite/driving/", "capture/", "kernels/")):
        yield f"imports {module}, which runs in a process of its own"
        return
    if top != "nsight_suite" or not place.startswith("nsight_suite/"):
        return
    importer, imported = _part(place), module.removeprefix("nsight_suite").lstrip(".") or "__init__"
    name = imported.split(".")[0]
    if importer not in RANK:
        yield f"'{importer}' stands in no layer"
    elif name not in RANK:
        yield f"imports '{name}', which stands in no layer"
    elif importer == "driving" and name != "driving" and not _inside(imported, DRIVING_KNOWS):
        yield f"driving knows nothing of {imported}"
    elif name not in (importer, "__init__") and RANK[name] >= RANK[importer]:
        yield f"{importer} may not import {name}"


def _inside(module: str, names: tuple[str, ...] | set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _part(place: str) -> str:
    """The layer member that a file of the package belongs to."""
    return place.split("/")[1].removesuffix(".py")


def _imports(path: Path, place: str) -> Iterator[tuple[int, str, bool]]:
    """Every imported module with its line, and whether only a type checker sees it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    type_blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and _is_type_checking(node.test)]
    for_types = {id(child) for block in type_blocks for node in block.body for child in ast.walk(node)}
    package = place.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            # `from nsight_suite import drawing` imports a module, `… import __version__` a name.
            whole = stem == "nsight_suite" or (node.level and not node.module)
            modules = (
                [f"{stem}.{alias.name}" if alias.name in RANK else stem for alias in node.names]
                if whole
                else [stem]
            )
        else:
            continue
        for module in modules:
            yield node.lineno, module, id(node) in for_types


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def test_the_project_obeys() -> None:
    assert violations(ROOT) == []


@pytest.mark.parametrize(
    ("place", "source", "says"),
    [
        (
            "nsight_suite/protocol.py",
            "from nsight_suite.querying import run_sql",
            "protocol may not import querying",
        ),
        (
            "nsight_suite/evidence/store.py",
            "import nsight_suite.reporting",
            "evidence may not import reporting",
        ),
        ("nsight_suite/evidence/store.py", "from ..run import Run", "evidence may not import run"),
        (
            "nsight_suite/capturing/passes.py",
            "from nsight_suite import evidence",
            "capturing may not import evidence",
        ),
        (
            "nsight_suite/query.py",
            "def main():\n    from nsight_suite.capture import main",
            "query may not import capture",
        ),
        ("nsight_suite/querying.py", "import duckdb", "imports duckdb"),
        ("nsight_suite/report.py", "from matplotlib.figure import Figure", "imports matplotlib"),
        ("nsight_suite/capturing/preflight.py", "import cupy", "imports cupy"),
        ("nsight_suite/doctor.py", "from cuda.bindings import driver", "imports cuda"),
        ("nsight_suite/capturing/session.py", "from nsight_suite.driving import app", "process of its own"),
        ("nsight_suite/capture.py", "import capture.row.driver", "process of its own"),
        ("nsight_suite/driving/app.py", "from nsight_suite.evidence import store", "driving knows nothing of"),
        ("nsight_suite/helpers.py", "import nsight_suite.errors", "stands in no layer"),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, place: str, source: str, says: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(source)
    (violation,) = violations(tmp_path)
    assert violation.startswith(f"{place}:")
    assert says in violation


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("nsight_suite/evidence/store.py", "import duckdb\nfrom nsight_suite.evidence.tables import tables"),
        ("nsight_suite/drawing.py", "def draw():\n    import matplotlib"),
        (
            "nsight_suite/figurestyle.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import matplotlib",
        ),
        ("nsight_suite/driving/records.py", "import cupy\nfrom nsight_suite.evidence.tables import tables"),
        ("capture/row/driver.py", "import cupy\nfrom nsight_suite.driving.app import run_driver"),
        ("nsight_suite/reporting/pages.py", "from nsight_suite import __version__"),
    ],
)
def test_a_right_import_is_let_through(tmp_path: Path, place: str, source: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(source)
    assert violations(tmp_path) == []
