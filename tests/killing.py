"""Kill a process at every call that changes a folder, look at what it leaves, and do the same again.

A process of its own, since it forks, which one with threads must not do.

python killing.py OPERATION FOLDER 1-40    # strikes at each of these calls; prints what was found, as JSON
python killing.py OPERATION FOLDER 3,9,99  # those that do not exist are not struck
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from faults import TABLES, faults, few_tables, killed
from tiny_export import Kernel, make_export

from nsight_suite.drawing import Drawing, Drawn, write_drawings
from nsight_suite.evidence import build, tables
from nsight_suite.evidence import ingested as ingested_evidence
from nsight_suite.evidence.store import empty_store, insert_rows, open_store
from nsight_suite.figurefiles import FigureSource
from nsight_suite.ingesting.making import ingest
from nsight_suite.locking import locked
from nsight_suite.runfolder import RunFolder, write_json
from nsight_suite.sharing import Options, share
from nsight_suite.sharing.bundling import PARTS

ROWS = {"old": 1, "new": 2}


def drawn(text: str) -> Drawn:
    """A figure whose pictures are a few bytes."""
    source = FigureSource("plain", Path("plain.py"), "A figure.", None, {}, lambda _: None)  # type: ignore[arg-type,return-value]
    return Drawn((Drawing(source, f"svg {text}".encode(), f"png {text}".encode(), {"text": text}),), {})


def evidence(folder: Path, text: str) -> None:
    """As many rows in two tables as stand for `text`."""
    with few_tables(), locked(folder / "run", "evidence"), empty_store() as connection:
        for table in TABLES:
            insert_rows(connection, table, [{"pass": "nsys"}] * ROWS[text])
        build.write(connection, RunFolder(folder / "run"))


def evidence_is_whole(folder: Path) -> str:
    sql = "SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM sync)"
    opened = open_store(RunFolder(folder / "run"), sql=sql)
    assert opened.missing == {}
    ((kernels, syncs),) = opened.connection.execute(sql).fetchall()
    assert kernels == syncs
    return "new" if kernels == ROWS["new"] else "old"


def figures(folder: Path, text: str) -> None:
    with locked(folder, "figures"):
        write_drawings(drawn(text), folder / "figures")


def figures_are_whole(folder: Path) -> str:
    found = {path.name: path.read_text() for path in (folder / "figures").iterdir() if path.name[0] != "."}
    text = json.loads(found["plain.provenance.json"])["text"]
    assert all(
        content in (f"{kind} old", f"{kind} new")
        for kind in ("svg", "png")
        for content in [found[f"plain.{kind}"]]
    )
    return text


def record(folder: Path, text: str) -> None:
    write_json(folder / "passes" / "nsys.json", {"state": text})


def record_is_whole(folder: Path) -> str:
    return str(json.loads((folder / "passes" / "nsys.json").read_text())["state"])


def ingested(folder: Path, text: str) -> None:
    export = folder / "r.sqlite"
    if text == "old":
        make_export(export, kernels=[Kernel("k", 1, 2, 1)])
    elif not (folder / "run").exists():
        ingest([export], folder / "run")


def ingested_is_whole(folder: Path) -> str:
    if not (folder / "run").exists():
        return "old"
    sql = "SELECT name FROM kernel"
    assert open_store(RunFolder(folder / "run"), sql=sql).rows(sql) == [{"name": "k"}]
    assert {path.stem for path in RunFolder(folder / "run").evidence.iterdir()} == tables.tables().keys()
    assert RunFolder(folder / "run").read_run()["state"] == "complete"
    return "new"


def shared(folder: Path, text: str) -> None:
    if text == "old":
        ingested(folder, "old")
        ingested(folder, "new")
    elif not (folder / "bundle").exists():
        share(RunFolder(folder / "run"), folder / "bundle", Options(without=PARTS), {})


def shared_is_whole(folder: Path) -> str:
    if not (folder / "bundle").exists():
        return "old"
    bundle = RunFolder(folder / "bundle")
    assert {path.stem for path in bundle.evidence.iterdir()} == tables.tables().keys()
    assert json.loads(bundle.manifest.read_text())["run_id"]
    return "new"


@dataclass(frozen=True)
class Operation:
    """What is done first with "old" and then with "new", and what tells which of them is there, whole.

    `needs` are packages that take long to import: that is done once, instead of in every child.
    """

    do: Callable[[Path, str], None]
    whole: Callable[[Path], str]
    needs: tuple[str, ...] = ()


OPERATIONS = {
    "evidence": Operation(evidence, evidence_is_whole, ("duckdb", "sqlite_utils")),
    "figures": Operation(figures, figures_are_whole),
    "record": Operation(record, record_is_whole),
    "ingest": Operation(ingested, ingested_is_whole, ("duckdb", "sqlite_utils")),
    "share": Operation(shared, shared_is_whole, ("duckdb", "sqlite_utils")),
}


def in_child(work: Callable[[], object]) -> tuple[int, str]:
    """How a process ends that does this, by signal (negative) or status, and what it prints."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        for stream in (1, 2):
            os.dup2(writer, stream)
        try:
            print(work(), flush=True)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as told:
        text = told.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text.strip()


def struck(operation: Operation, folder: Path, number: int) -> None:
    with faults(number, killed, taking=True):
        operation.do(folder, "new")


def looked_at(operation: Operation, folder: Path, number: int) -> dict[str, Any]:
    """What a process leaves that was killed in place of its `number`-th call, and what the next makes of it."""
    ended, told = in_child(lambda: struck(operation, folder, number))
    return {
        "call": number,
        "ended": ended,
        "told": told if ended > 0 else "",
        "state": in_child(lambda: operation.whole(folder)),
        "hidden": sorted(path.name for path in folder.rglob(".*")),
        "again": in_child(lambda: operation.do(folder, "new")),
        "after": in_child(lambda: operation.whole(folder)),
        "left": sorted(path.name for path in folder.rglob(".*")),
    }


def numbers_in(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(number) for number in text.split(",")]


def main(name: str, place: Path, numbers: str) -> int:
    operation, found = OPERATIONS[name], []
    for package in operation.needs:
        importlib.import_module(package)
    old = place / "old"
    old.mkdir()
    with mock.patch.object(ingested_evidence, "write_duckdb"):  # one file more, of views that take long to make
        assert in_child(lambda: operation.do(old, "old")) == (0, "None")
        for number in numbers_in(numbers):
            folder = place / str(number)
            shutil.copytree(old, folder)
            found.append(looked_at(operation, folder, number))
            shutil.rmtree(folder)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
