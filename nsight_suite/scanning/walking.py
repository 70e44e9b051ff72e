"""Scanning paths: which files there are, and how each is looked into."""

from __future__ import annotations

import gzip
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from nsight_suite.errors import BadReport, UsageError
from nsight_suite.evidence.cells import parquet_cells, sqlite_cells
from nsight_suite.evidence.leaks import Secret, secrets_of_export
from nsight_suite.scanning.databases import scan_database
from nsight_suite.scanning.findings import Kind, Leak, Scan, Sign, Tally
from nsight_suite.scanning.streams import scan_binary, scan_text

_SQLITE = b"SQLite format 3\0"
_HEAD = 1 << 16
# Of these only what is not compressed can be searched.
_COMPRESSED = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"\x89PNG": "png",
    b"\xff\xd8\xff": "jpeg",
    b"%PDF": "pdf",
    b"NVIDIA Tegra Profiler Report": "nsys",
    b"NVR\0": "ncu",
}
# How files of these names begin. One that does not is another kind of file, or damaged.
_BEGINS = {
    ".nsys-rep": (b"NVIDIA Tegra Profiler Report", b"SQLite format 3\0"),
    ".qdrep": (b"NVIDIA Tegra Profiler Report",),
    **dict.fromkeys((".ncu-rep", ".ncu-repz"), (b"NVR\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")),
    ".gz": (b"\x1f\x8b",),
    ".sqlite": (_SQLITE,),
}

# Bytes of the files that are done, of all files, and the file at work.
Progress = Callable[[int, int, str], None]


def scan(paths: Sequence[Path], progress: Progress = lambda done, total, file: None) -> Scan:
    """Look into every file at these paths, and say what would leak. Nothing is changed.

    Raises UsageError when there is nothing at a path.
    """
    files: list[tuple[Path, str]] = []
    unreadable: list[tuple[str, str]] = []
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"There is no file or folder '{path}'.", "Check the path.")
        files += _files(path, unreadable)
    known = _known(files)
    leaks: list[Leak] = []
    total, done = _size(files), 0
    for group in _grouped(files):
        name = group[0][1] if len(group) == 1 else str(Path(group[0][1]).parent)
        progress(done, total, name)
        done += _size(group)
        try:
            leaks += _scan_group(group, known)
            unreadable += _misnamed(group)
        except (OSError, BadReport) as error:
            reason = error.what if isinstance(error, BadReport) else error.strerror or str(error)
            unreadable.append((name, reason))
    return Scan(tuple(sorted(leaks, key=lambda leak: (leak.file, leak.kind, leak.place))), tuple(unreadable))


def _misnamed(group: Sequence[tuple[Path, str]]) -> Iterator[tuple[str, str]]:
    """A file that is not what its name says: what can be looked into of the one may not be all of the other."""
    path, name = group[0]
    begins = _BEGINS.get(path.suffix.lower())
    head = _head(path)
    if len(group) == 1 and begins and head and b"\0" in head and not head.startswith(begins):
        yield name, f"it does not begin as {path.suffix.lower()} files do, so only its plain text was looked at"


def _files(path: Path, unreadable: list[tuple[str, str]]) -> Iterator[tuple[Path, str]]:
    """The files at a path, each with the name that it is told by."""
    if not path.is_dir():
        yield path, str(path)
        return

    def note(error: OSError) -> None:
        unreadable.append((str(error.filename), error.strerror or str(error)))

    for folder, folders, names in os.walk(path, onerror=note):
        folders.sort()
        for name in sorted(names):
            file = Path(folder) / name
            yield file, str(file)


def _size(files: Sequence[tuple[Path, str]]) -> int:
    return sum(path.stat().st_size for path, _ in files if path.is_file())


def _known(files: Sequence[tuple[Path, str]]) -> list[Secret]:
    """The private values that the exports among these files hold: they are looked for in all of them."""
    found: dict[str, Secret] = {}
    for path, _ in files:
        try:
            if _head(path).startswith(_SQLITE):
                found.update((secret.text, secret) for secret in secrets_of_export(path))
        except (OSError, BadReport):
            continue  # told when the file itself is scanned
    return list(found.values())


def _grouped(files: Sequence[tuple[Path, str]]) -> Iterator[list[tuple[Path, str]]]:
    """The Parquet files of a folder belong together; any other file stands alone."""
    tables: dict[Path, list[tuple[Path, str]]] = {}
    for file in files:
        if file[0].suffix == ".parquet":
            tables.setdefault(file[0].parent, []).append(file)
        else:
            yield [file]
    yield from tables.values()


def _scan_group(group: Sequence[tuple[Path, str]], known: Sequence[Secret]) -> list[Leak]:
    path, name = group[0]
    if path.suffix == ".parquet":
        tally = Tally(name if len(group) == 1 else str(Path(name).parent), by_column=True)
        with parquet_cells([file for file, _ in group]) as database:
            scan_database(database, tally, known)
        return tally.leaks()
    if not stat.S_ISREG(path.stat().st_mode):
        raise BadReport("it is no regular file")
    head = _head(path)
    if head.startswith(_SQLITE):
        tally = Tally(name, by_column=True)
        with sqlite_cells(path) as database:
            scan_database(database, tally, known)
        return tally.leaks()
    tally = Tally(name, by_column=False)
    for magic in _COMPRESSED:
        if head.startswith(magic):
            tally.add("", [Sign(Kind.OPAQUE)])
    try:
        for stream in _streams(path, head):
            _scan_stream(stream, tally, known)
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile, RuntimeError, NotImplementedError):
        tally.add("", [Sign(Kind.OPAQUE)])
    return tally.leaks()


def _streams(path: Path, head: bytes) -> Iterator[BinaryIO]:
    """The file itself, or what is packed in it."""
    if head.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                with archive.open(member) as stream:
                    yield stream  # type: ignore[misc]
        return
    with path.open("rb") as file:
        if head.startswith(b"\x1f\x8b"):
            with gzip.open(file) as stream:
                yield stream  # type: ignore[misc]
        else:
            yield file


def _scan_stream(stream: BinaryIO, tally: Tally, known: Sequence[Secret]) -> None:
    head = stream.read(_HEAD)
    stream.seek(0)
    if b"\0" in head:
        scan_binary(stream, tally, known)
    else:
        scan_text(stream, tally, known)


def _head(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_HEAD)
