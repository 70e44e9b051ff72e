"""A run → a bundle: copied, built again, judged, drawn, sealed, looked through; whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.drawing import Drawn, draw, write_drawings
from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.evidence.build import collect
from nsight_suite.evidence.files import recorded_files
from nsight_suite.evidence.store import Connection, open_store, write_parquet
from nsight_suite.evidence.tables import tables
from nsight_suite.manifest import LeftOut, Manifest, write_manifest
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reconciliation.table import to_json
from nsight_suite.reporting import write_report
from nsight_suite.runfolder import RunFolder, replacing, sha256, write_text
from nsight_suite.sealing import make_manifest
from nsight_suite.sharing.archive import write_archive
from nsight_suite.sharing.copying import copy_evidence, copy_sources
from nsight_suite.sharing.leaving import Sized, choose, left_out
from nsight_suite.sharing.secrecy import refuse_leaks, secrets_of_run
from nsight_suite.sources import ExperimentSource
from nsight_suite.writing import cannot_write, remove, sweep, sync, takes_no_more, temporary_beside

PARTS = ("figures", "report")
_ARCHIVE = ".zip"
_OTHER_ARCHIVES = (".7z", ".bz2", ".gz", ".tar", ".tgz", ".xz", ".zst")
# Evidence is built from their exports and pages: these may be gone.
_REPORTS = (".nsys-rep", ".ncu-rep")
# Whoever reads the report of a bundle is in its folder.
_HERE = "."
# What a copy may tell otherwise: its files are smaller, so their sizes and hashes differ.
_DIFFERENT = {"artifact": None, "report": "sha256"}


@dataclass(frozen=True)
class Options:
    """How to share.

    force       share a run that is not complete
    without     of PARTS what is not made
    max_bytes   the largest size of the archive, or of all files of the folder together; None: any
    experiment  adds the figures of an experiment that lies outside the project
    """

    force: bool = False
    without: Collection[str] = ()
    max_bytes: int | None = None
    experiment: ExperimentSource | None = None


@dataclass(frozen=True)
class Bundle:
    """A bundle that was written. `sha256` is that of the archive, None for a folder."""

    path: Path
    bytes: int
    manifest: Manifest
    manifest_sha256: str
    sha256: str | None

    @property
    def run(self) -> RunFolder:
        """The run in a bundle that is a folder."""
        return RunFolder(self.path)


def share(
    run: RunFolder, out: Path, options: Options | None = None, environment: Mapping[str, str] | None = None
) -> Bundle:
    """Write a copy of `run` to `out`, an archive when its name ends in .zip, else a new folder.

    The same run and options give the same bytes, and so does sharing the copy again. Of a run that was ingested
    only the evidence is copied: its reports stay where they are.
    Raises SuiteError for a run that is not complete (unless `force`), for a copy whose reports do not give the
    run's own evidence, for one that still tells of this machine, and for one that does not fit `max_bytes`.
    `environment` is this process's own.
    """
    options = options or Options()
    _check(run, out, options.force)
    environment = os.environ if environment is None else environment
    try:
        with _drafted(out) as place:
            draft = RunFolder(place / "draft")
            dropped: dict[str, LeftOut] = {}
            while True:
                manifest = _make(run, draft, options, dropped, environment)
                total, sizes, archive = _measure(draft, place, out)
                if options.max_bytes is None or total <= options.max_bytes:
                    break
                dropped |= choose(sizes, total - options.max_bytes, options.max_bytes, draft)
                shutil.rmtree(draft.path)
            digest = sha256(draft.manifest)
            if archive is None:
                _put(draft, out)
                return Bundle(out, total, manifest, digest, None)
            with replacing(out) as temporary:
                archive.rename(temporary)
            return Bundle(out, total, manifest, digest, sha256(out))
    except OSError as error:
        if Path(str(error.filename)).is_relative_to(run.path) and not takes_no_more(error):
            raise SuiteError(
                f"{error.filename} cannot be read: {error.strerror}.", "Share a run all of which you may read."
            ) from error
        raise cannot_write(out, error) from error


def _put(draft: RunFolder, out: Path) -> None:
    """Give a folder its place, once all of it is on the disk."""
    for path in (*draft.path.rglob("*"), draft.path):
        sync(path)
    if out.exists():
        out.rmdir()
    draft.path.rename(out)
    sync(out.parent)


def _check(run: RunFolder, out: Path, force: bool) -> None:
    state = run.read_run().get("state")
    if state != "complete" and not force:
        raise UsageError(
            f"The run {run.path} is {state}, so a copy of it would not show the whole experiment.",
            f"Finish it with --resume {run.path}, or share it as it is with --force.",
        )
    if not force:
        _refuse_altered(run)
    if out.suffix in _OTHER_ARCHIVES:
        raise UsageError(f"'{out.name}' would be a folder.", "An archive ends in .zip.")
    if out.exists() and (not out.is_dir() or any(out.iterdir()) or out.suffix == _ARCHIVE):
        raise UsageError(f"'{out}' exists already.", "Give --out a name that does not exist yet.")
    if run.path.resolve() in out.resolve().parents:
        raise UsageError(f"'{out}' lies inside the run.", "Give --out a place elsewhere.")


def _refuse_altered(run: RunFolder) -> None:
    """What the passes left must be there as they left it: else a copy of it shows something else."""
    for entry in recorded_files(run.pass_records()):
        path = run.path / entry["path"]
        there = path.is_file()
        if (there and sha256(path) == entry["sha256"]) or (not there and path.suffix in _REPORTS):
            continue
        raise UsageError(
            f"{entry['path']} is {'not as its pass left it' if there else 'gone'} (pass {entry['pass']}).",
            f"Put the original back, make the pass again with --resume {run.path}, or share what is there "
            "with --force.",
        )


@contextmanager
def _drafted(out: Path) -> Iterator[Path]:
    """A folder for drafts, beside the place of the bundle."""
    beside = out.with_name(f"{out.name}.draft")
    place = temporary_beside(beside)
    sweep(out.parent, beside)
    try:
        place.mkdir(parents=True)
        yield place
    finally:
        remove(place)


def _make(
    run: RunFolder,
    draft: RunFolder,
    options: Options,
    dropped: Mapping[str, LeftOut],
    environment: Mapping[str, str],
) -> Manifest:
    """Write everything that belongs to the bundle, but for what was dropped, into the draft."""
    if run.is_ingested():
        copy_evidence(run, draft)
        copied = open_store(draft, missing_as_empty=True).connection
    else:
        copy_sources(run, draft, dropped.keys())
        copied = collect(draft)
    with closing(copied):
        # First what everything else is made from: a leak there is told before anything is made.
        secrets, sources = secrets_of_run(run, draft, environment), _files(draft)
        refuse_leaks(draft, sources, secrets, copied)
        if not run.is_ingested():
            with collect(run) as original:
                _compare(original, copied)
            write_parquet(copied, draft.evidence, keeping=False)
        _derive(draft, options)
        for path in dropped:
            (draft.path / path).unlink(missing_ok=True)
        stays = left_out(run, draft, dropped)
        manifest = make_manifest(draft, options.experiment, left_out=stays, bundle=True)
        write_manifest(draft, manifest)
        refuse_leaks(draft, [path for path in _files(draft) if path not in sources], secrets, copied)
    return manifest


def _derive(draft: RunFolder, options: Options) -> None:
    """Verdicts, figures and report, as far as the run and its evidence have them."""
    drawn, reconciliation = Drawn((), {}), None
    if not draft.is_ingested():
        reconciliation = reconcile_run(draft)
        write_text(draft.path / "reconciliation.json", to_json(reconciliation))
        if {*PARTS} - {*options.without}:
            drawn = draw(draft, experiment=options.experiment)
    if "figures" not in options.without:
        write_drawings(drawn, draft.figures)
    if "report" not in options.without:
        write_report(draft, reconciliation, drawn, draft.path, _HERE)


def _measure(draft: RunFolder, place: Path, out: Path) -> tuple[int, list[Sized], Path | None]:
    """The size of the bundle and of each file in it, and the archive where it is one."""
    if out.suffix == _ARCHIVE:
        archive = place / "archive"
        taken = write_archive(draft.path, archive, out.stem)
        return archive.stat().st_size, [Sized(path, size) for path, size in taken.items()], archive
    sizes = [Sized(path.relative_to(draft.path).as_posix(), path.stat().st_size) for path in _files(draft)]
    return sum(one.bytes for one in sizes), sizes, None


def _files(draft: RunFolder) -> list[Path]:
    return sorted(path for path in draft.path.rglob("*") if path.is_file())


def _compare(original: Connection, copied: Connection) -> None:
    """The copy must support every claim that the run supports, and no other."""
    for name, table in tables().items():
        without = _DIFFERENT.get(name, "")
        if without is None:
            continue
        columns = ", ".join(f'"{column}"' for column in table.column_names if column != without)
        sql = f'SELECT {columns} FROM "{name}" ORDER BY ALL'
        if original.execute(sql).fetchall() != copied.execute(sql).fetchall():
            raise SuiteError(
                f"The reduced reports do not give the run's evidence: table '{name}' differs.",
                "A report of this run cannot be shared. If it is an .ncu-rep alone, print it as CSV beside it.",
            )
