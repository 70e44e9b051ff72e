"""What a file is, by its contents; its suffix only helps where the contents say nothing."""

from __future__ import annotations

import csv
import mmap
import re
from enum import StrEnum
from pathlib import Path

from nsight_suite.errors import BadReport, UsageError

_HEAD_BYTES = 1 << 20


class Form(StrEnum):
    """The kinds of report. The values of those that are read as they are stand in `report.format`."""

    NSYS_SQLITE = "nsys-sqlite"
    NSYS_PARQUET = "nsys-parquet"
    NSYS_REP = "nsys-rep"
    QDSTRM = "qdstrm"
    NCU_CSV = "ncu-csv"
    NCU_REP = "ncu-rep"
    NSIGHT_PYTHON = "nsight-python-csv"
    GZIP = "gzip"


# Any of these makes a database, or a folder of Parquet files, an nsys export.
NSYS_TABLES = re.compile(
    r"(StringIds|META_DATA_(EXPORT|CAPTURE)|NVTX_EVENTS(_V\d+)?|CUPTI_ACTIVITY_KIND_\w+|CUDA_GRAPH(_NODE)?_EVENTS"
    r"|TARGET_INFO_\w+|ENUM_NSYS_\w+|ProcessStreams|OSRT_API)",
    re.IGNORECASE,
)
_NSYS_EXPORT = "nsys export --type sqlite --output {stem}.sqlite {name}"
_SUFFIXES = {
    ".nsys-rep": Form.NSYS_REP,
    ".qdrep": Form.NSYS_REP,
    ".qdstrm": Form.QDSTRM,
    ".ncu-rep": Form.NCU_REP,
    ".ncu-repz": Form.NCU_REP,
}
_MAGIC = {
    b"SQLite format 3\0": Form.NSYS_SQLITE,
    b"NVIDIA Tegra Profiler Report": Form.NSYS_REP,
    b"NVR\0": Form.NCU_REP,
    b"\x1f\x8b": Form.GZIP,
}
_ZSTD = b"\x28\xb5\x2f\xfd"
# Known, and not read; each with the way out.
_FOREIGN = {
    b"\x89HDF": ("an HDF5 file", _NSYS_EXPORT),
    b"PAR1": ("one Parquet file", "If it is part of an nsys export, give its folder (NAME_pqtdir)."),
    b"ARROW1": ("an Arrow file", _NSYS_EXPORT),
    b"\xff\xff\xff\xff": ("an Arrow stream", _NSYS_EXPORT),
    b"PK\x03\x04": ("a ZIP archive", "Unpack it: unzip {name}"),
    _ZSTD: ("compressed by zstd", "Unpack it: zstd -d {name}"),
    b"\xfd7zXZ": ("compressed by xz", "Unpack it: xz -dk {name}"),
    b"BZh": ("compressed by bzip2", "Unpack it: bunzip2 -k {name}"),
}
# Whatever its name says. What is packed may be the layout of a report that is not known yet.
_NEVER = {
    b"\x7fELF": "a program",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF document",
}
_TOOLS_WORDS = re.compile(rb"^==(PROF|ERROR|WARNING)==|ERR_NVGPUCTRPERM|No kernels were profiled", re.MULTILINE)


def recognise(path: Path) -> Form:
    """The kind of a report, a file or a folder of Parquet files.

    Raises UsageError when there is nothing at `path`; BadReport, saying what it is instead, when it is no
    report, or one that cannot be read as it is.
    """
    try:
        if path.is_dir():
            return _folder(path)
        if not path.exists():
            raise UsageError(f"There is no file '{path}'.", "Check the path; nothing was written.")
        if not path.is_file():
            raise BadReport(f"{path.name} is neither a file nor a folder.")
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise BadReport(f"{path.name} cannot be read: {error.strerror}.") from error
    if not head:
        raise BadReport(f"{path.name} is an empty file.", "Make the report or its export again.")
    return _file(path, head)


def _file(path: Path, head: bytes) -> Form:
    for magic, form in _MAGIC.items():
        if head.startswith(magic):
            if form is Form.NSYS_SQLITE:
                _check_tables(path)
            return form
    if b"NVIDIA Nsight Systems Stream" in head[:64]:
        return Form.QDSTRM
    for magic, what in _NEVER.items():
        if head.startswith(magic):
            raise _foreign(path, what, "")
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return _named(path, _SUFFIXES[suffix])
    if head.startswith(_ZSTD) and suffix != ".zst":  # what an .ncu-repz is inside
        return Form.NCU_REP
    for magic, (what, way_out) in _FOREIGN.items():
        if head.startswith(magic):
            raise _foreign(path, what, way_out)
    # Some shells save what ncu prints as UTF-16.
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = head.decode(encoding, "replace")
    from nsight_suite.evidence.readers import ncu_csv

    if ncu_csv.recognises(text):
        return Form.NCU_CSV
    if "\0" in text:
        raise _foreign(path, "binary, and of no kind that is known", "")
    return _text(path, head, text)


def _named(path: Path, form: Form) -> Form:
    """What a file that begins as nothing known is by its name."""
    if form is Form.NSYS_REP:  # those of every version begin alike
        raise BadReport(
            f"{path.name} is no report of Nsight Systems, whatever its name says: it begins otherwise.",
            "Copy it again from where it was made.",
        )
    return form


def _text(path: Path, head: bytes, text: str) -> Form:
    from nsight_suite.evidence.readers import nsight_python_csv
    from nsight_suite.evidence.readers.long_cells import cells_of_any_length

    with cells_of_any_length():
        header = next(csv.reader(text.splitlines()[:1]), [])
    if nsight_python_csv.recognises(header):
        return Form.NSIGHT_PYTHON
    # What ncu printed without a table is an ncu report too: its reader says what went wrong. A program may
    # print much before the first row.
    if _TOOLS_WORDS.search(head) or (len(head) == _HEAD_BYTES and _holds(path, b'"Kernel Name"')):
        return Form.NCU_CSV
    if text.startswith('{"table":'):
        raise _foreign(
            path, "the records of a driver of this suite", "Take them with capture NAME --reports DIR."
        )
    if text.lstrip().startswith("{"):
        raise _foreign(path, "JSON", _NSYS_EXPORT)
    what = "text without a table of ncu's or nsight-python's"
    if path.suffix.lower() in (".sqlite", ".db"):
        what = f"not an SQLite database, but {what}"
    raise _foreign(path, what, "")


def _holds(path: Path, needle: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(needle) >= 0


def _folder(path: Path) -> Form:
    files = [entry for entry in path.iterdir() if NSYS_TABLES.fullmatch(entry.stem)]
    if any(file.suffix == ".parquet" for file in files):
        return Form.NSYS_PARQUET
    if any(file.suffix == ".arrow" for file in files):
        raise BadReport(
            f"{path.name} is an nsys export as Arrow files, which are not read.",
            "Export the report as Parquet or SQLite: nsys export --type parquetdir NAME.nsys-rep",
        )
    raise BadReport(f"{path.name} is a folder.", "Give it by its own name to read the reports in it.")


def _check_tables(path: Path) -> None:
    from nsight_suite.evidence.readers.nsys_export import opened

    with opened(path) as export:
        names = [
            str(row[0])
            for row in export.connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"
            )
        ]
    if not names:
        raise BadReport(
            f"{path.name} is an SQLite database without any table.",
            "If it is an export, it was broken off. Export the report again with nsys export.",
        )
    if not any(NSYS_TABLES.fullmatch(name) for name in names):
        seen = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        raise BadReport(
            f"{path.name} is an SQLite database, but no export of nsys: its tables are {seen}.",
            "Give the file that nsys export --type sqlite wrote.",
        )


def _foreign(path: Path, what: str, way_out: str) -> BadReport:
    told = way_out.format(name=path.name, stem=path.stem)
    if way_out == _NSYS_EXPORT:
        told = f"Export the report as SQLite: {told.replace(path.name, f'{path.stem}.nsys-rep')}"
    return BadReport(f"{path.name} is no report that can be read: it is {what}.", told)
