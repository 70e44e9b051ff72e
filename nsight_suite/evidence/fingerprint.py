"""Whether a report is still the file that it was: its size, when it was changed, and its hash.

A folder of Parquet files counts as one report, with the sizes and hashes of all its files.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from nsight_suite.runfolder import sha256


@dataclass(frozen=True)
class Fingerprint:
    """Size in bytes, time of the last change in ns since 1970, SHA-256."""

    size: int
    modified_ns: int
    sha256: str

    def still_holds(self, path: Path) -> bool:
        """Whether the file is the same: by size and time, and by its hash when only its time is another.

        Raises OSError when it is not there.
        """
        size, modified_ns = size_and_time(path)
        if size != self.size:
            return False
        return modified_ns == self.modified_ns or content_hash(path) == self.sha256


def fingerprint(path: Path) -> Fingerprint:
    """Raises OSError for a file that cannot be read."""
    size, modified_ns = size_and_time(path)
    return Fingerprint(size, modified_ns, content_hash(path))


def size_and_time(path: Path) -> tuple[int, int]:
    """Bytes, and the time of the last change in ns; of a folder the sum and the latest."""
    found = [file.stat() for file in files_in(path)]
    return sum(one.st_size for one in found), max((one.st_mtime_ns for one in found), default=0)


def content_hash(path: Path) -> str:
    """SHA-256 of a file; of a folder that of its files' names and hashes."""
    if not path.is_dir():
        return sha256(path)
    told = "".join(f"{sha256(file)}  {file.name}\n" for file in files_in(path))
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()


def files_in(path: Path) -> list[Path]:
    """The file itself, or the files of a folder by name. Raises OSError when there is none."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    return [path]
