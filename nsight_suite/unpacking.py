"""Bundles from anybody: unpacking a .zip and looking over a folder, without ever being led out of either.

Everything that the archive declares (names, sizes, kinds) is judged before the first byte is written, and what
is written is counted again, since declarations may lie. Nothing inside is unpacked in turn.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import SuiteError, UsageError

_AGAIN = "Get the bundle again from where it was published, and compare its SHA-256."
_CHUNK = 1 << 20
# The end of an archive without a comment: sizes and position of its table of contents.
_END = struct.Struct("<4s4H2LH")
_END_MAGIC, _LOCATOR_MAGIC = b"PK\x05\x06", b"PK\x06\x07"
_LOCATOR_BYTES = 20
_ENCRYPTED = 0x1
# What is small may be packed tightly: a file of zeros is no bomb yet.
_SMALL_BYTES = 1 << 20
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
# The longest name of a file on most file systems.
_PART_BYTES = 255


@dataclass(frozen=True)
class Limits:
    """The most that a bundle may hold.

    files           entries of an archive, or files of a folder
    bytes           of all files together, unpacked
    ratio           unpacked to packed bytes of one file, where it has more than 1 MiB
    contents_bytes  an archive's table of contents
    depth           folders in one another
    name_bytes      one whole name
    """

    files: int = 20_000
    bytes: int = 4 << 30
    ratio: int = 300
    contents_bytes: int = 16 << 20
    depth: int = 16
    name_bytes: int = 1024


LIMITS = Limits()


def unpack(archive: Path, into: Path, limits: Limits = LIMITS) -> Path:
    """Unpack a bundle into the folder `into` and return the folder inside that holds its files.

    Only plain files and folders are made, nowhere but below `into`. Raises UsageError for what is no zip, and
    SuiteError for one that is damaged, too large, or has a name that no bundle has.
    """
    try:
        _judge_end(archive, limits)
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            _judge(archive, entries, limits)
            _write(archive.name, opened, entries, into, limits)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
        raise SuiteError(f"{shown(archive.name)} is a damaged archive: {shown(str(error))}.", _AGAIN) from error
    except UnicodeError as error:
        raise SuiteError(
            f"{shown(archive.name)} has a name that is not Unicode: {shown(str(error))}.", _AGAIN
        ) from error
    except OSError as error:
        raise SuiteError(f"{shown(archive.name)} cannot be unpacked: {error.strerror or error}.") from error
    return _top(archive, entries, into)


def look_over(folder: Path, limits: Limits = LIMITS) -> dict[str, os.stat_result]:
    """Every file below a folder by its path inside, in order, without following a link.

    Raises SuiteError for a link, for what is neither file nor folder (a pipe, a device), and for more or deeper
    than a bundle is.
    """
    found: dict[str, os.stat_result] = {}
    size = 0
    for path, status in _walk(folder, "", limits):
        if stat.S_ISLNK(status.st_mode):
            raise SuiteError(
                f"{shown(path)} is a link, and may lead to anybody's file.",
                "Copy the run with what its links lead to (cp -rL), and name the copy.",
            )
        if not stat.S_ISREG(status.st_mode):
            raise SuiteError(f"{shown(path)} is neither a file nor a folder.", _AGAIN)
        found[path] = status
        size += status.st_size
        _judge_amount(folder.name, len(found), size, limits)
    return dict(sorted(found.items()))


def shown(text: str, most: int = 300) -> str:
    """Text of anybody's on one line that no terminal obeys; what is longer than `most` is cut."""
    plain = "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char)[0] in "CZ" and char != " "
        else char
        for char in text[: most + 1]
    )
    return plain if len(plain) <= most else f"{plain[:most]}…"


def _judge_end(archive: Path, limits: Limits) -> None:
    """The size of the table of contents, before all of it is read."""
    name = shown(archive.name)
    with archive.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END.size - _LOCATOR_BYTES))
        tail = file.read()
    if len(tail) < _END.size or tail[-_END.size :][:4] != _END_MAGIC:
        raise UsageError(
            f"{name} is no zip archive, or was cut.", "Give a run folder, or a bundle ending in .zip."
        )
    if tail[: -_END.size].startswith(_LOCATOR_MAGIC):
        raise SuiteError(
            f"{name} is a zip64 archive: larger than any bundle.",
            "Unpack it yourself where there is room, and give the folder.",
        )
    _, disk, first_disk, here, entries, contents, begin, _ = _END.unpack(tail[-_END.size :])
    if disk or first_disk or here != entries or begin + contents + _END.size != size:
        raise SuiteError(f"{name} holds more than one archive, or bytes outside of it.", _AGAIN)
    if contents > limits.contents_bytes or entries > limits.files:
        raise SuiteError(f"{name} has {entries} entries: more than a bundle has ({limits.files}).", _AGAIN)


def _judge(archive: Path, entries: list[zipfile.ZipInfo], limits: Limits) -> None:
    """Names, kinds and declared sizes of all entries."""
    _judge_amount(archive.name, len(entries), sum(entry.file_size for entry in entries), limits)
    for entry in entries:
        name = shown(entry.orig_filename)
        if why := _bad_name(entry, limits):
            raise SuiteError(f"{shown(archive.name)} holds '{name}', {why}.", _AGAIN)
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise SuiteError(f"{shown(archive.name)} holds '{name}', a link or device.", _AGAIN)
        if entry.flag_bits & _ENCRYPTED:
            raise SuiteError(f"{shown(archive.name)} holds '{name}', which is encrypted.", _AGAIN)
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SuiteError(f"{shown(archive.name)} holds '{name}', packed in an unusual way.", _AGAIN)
        if entry.file_size > max(_SMALL_BYTES, limits.ratio * entry.compress_size):
            raise SuiteError(
                f"{shown(archive.name)} holds '{name}': {entry.compress_size} bytes that would become "
                f"{entry.file_size}.",
                _AGAIN,
            )
    _judge_clashes(archive.name, entries)


def _bad_name(entry: zipfile.ZipInfo, limits: Limits) -> str:
    """What is wrong with the name of an entry; empty when nothing is."""
    name = entry.orig_filename
    parts = name.removesuffix("/").split("/")
    faults = {
        "a name with a backslash": "\\" in name,
        "an absolute path": name.startswith("/") or bool(_DRIVE.match(name)),
        "a name that leads elsewhere": any(part in ("..", ".") for part in parts),
        "a name that no file has everywhere": any(
            part != part.strip(" ") or not part.rstrip(".") for part in parts
        ),
        "a name with control characters": any(unicodedata.category(char) in _CONTROLS for char in name),
        "a name that is too long": len(name.encode()) > limits.name_bytes
        or any(len(part.encode()) > _PART_BYTES for part in parts),
        "a name of too many folders": len(parts) > limits.depth,
    }
    return next((fault for fault, there in faults.items() if there), "")


def _judge_clashes(archive: str, entries: Iterable[zipfile.ZipInfo]) -> None:
    """No two names may be one on any file system, nor one be a file and a folder."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for entry in entries:
        name = entry.filename.removesuffix("/")
        key = _alike(name)
        kind = folders if entry.is_dir() else files
        if key in files or (key in folders and (kind is files or folders[key] != name)):
            raise _clash(archive, name)
        kind[key] = name
    for name in files.values():
        parts = name.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if _alike(folder) in files or folders.setdefault(_alike(folder), folder) != folder:
                raise _clash(archive, folder)


def _clash(archive: str, name: str) -> SuiteError:
    return SuiteError(
        f"{shown(archive)} holds '{shown(name)}' twice, or two names that some machines take for one.", _AGAIN
    )


def _alike(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _judge_amount(name: str, files: int, size: int, limits: Limits) -> None:
    if files > limits.files:
        raise SuiteError(
            f"{shown(name)} holds more than {limits.files} files.", "No bundle of a run is that large."
        )
    if size > limits.bytes:
        raise SuiteError(
            f"{shown(name)} holds more than {limits.bytes / 1e9:.3g} GB.", "No bundle of a run is that large."
        )


def _write(
    name: str, opened: zipfile.ZipFile, entries: list[zipfile.ZipInfo], into: Path, limits: Limits
) -> None:
    written = 0
    for entry in entries:
        target = into / entry.filename
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened.open(entry) as source, target.open("xb") as sink:
            while chunk := source.read(_CHUNK):
                written += len(chunk)
                _judge_amount(name, 0, written, limits)
                sink.write(chunk)


def _top(archive: Path, entries: list[zipfile.ZipInfo], into: Path) -> Path:
    """The one folder that holds everything."""
    tops = {entry.filename.split("/")[0] for entry in entries}
    if len(tops) != 1 or not (into / next(iter(tops))).is_dir():
        raise UsageError(
            f"{shown(archive.name)} is no bundle: a bundle holds one folder, and everything in it.",
            "Give the archive that `share` wrote.",
        )
    return into / tops.pop()


def _walk(folder: Path, inside: str, limits: Limits, depth: int = 1) -> Iterator[tuple[str, os.stat_result]]:
    if depth > limits.depth:
        raise SuiteError(f"{shown(inside)} lies deeper than any file of a run.", _AGAIN)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                path = f"{inside}{entry.name}"
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    yield from _walk(folder / entry.name, f"{path}/", limits, depth + 1)
                else:
                    yield path, status
    except OSError as error:
        raise SuiteError(f"{shown(inside or folder.name)} cannot be read: {error.strerror}.") from error
