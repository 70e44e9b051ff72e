"""A folder as one ZIP file whose bytes depend on the names and contents of its files alone."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

# The earliest time that a ZIP file can tell.
_TIME = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE = 0o100644
_UNIX = 3


def write_archive(folder: Path, archive: Path, top: str) -> dict[str, int]:
    """Write all files of `folder` into `archive`, under the one folder `top`.

    Returns how many bytes each file takes in it, with its entries, by its path inside the folder.
    """
    taken = {}
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            inside = path.relative_to(folder).as_posix()
            entry = zipfile.ZipInfo(f"{top}/{inside}", _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = _UNIX
            entry.external_attr = _REGULAR_FILE << 16
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, packed.open(entry, "w") as target:
                shutil.copyfileobj(source, target)
            # Before the data and in the directory at the end, each with the name.
            taken[inside] = entry.compress_size + 30 + 46 + 2 * len(entry.filename.encode())
    return taken
