"""Finding the shared libraries that a variant needs.

python -m nsight_suite.driving.libraries libcudnn.so.9      # prints where it is
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

from nsight_suite.errors import CannotMeasure


def load_library(name: str) -> ctypes.CDLL:
    """A shared library (libcudnn.so.9 …), from a Python package, a toolkit or the loader's path.

    Raises CannotMeasure when there is none that can be loaded.
    """
    try:
        return ctypes.CDLL(_place(name))
    except OSError as error:
        why = str(error).removeprefix(f"{name}: ")
        raise CannotMeasure(f"{name} cannot be loaded: {why}.") from error


def _place(name: str) -> str:
    short = re.sub(r"^lib|\.so.*$", "", name)
    try:
        from cuda import pathfinder

        return str(pathfinder.load_nvidia_dynamic_lib(short).abs_path)
    except Exception:  # no pathfinder, one that does not know the library, or misses what not every use needs
        folders = [folder for entry in sys.path for folder in Path(entry).glob("nvidia/*/lib")]
        return next((str(folder / name) for folder in folders if (folder / name).is_file()), name)


if __name__ == "__main__":
    try:
        print(load_library(sys.argv[1])._name)
    except CannotMeasure as error:
        sys.exit(str(error))
