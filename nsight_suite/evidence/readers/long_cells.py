"""Python's csv refuses cells of more than 128 KiB, unless it is told otherwise, for the whole process."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Inside the block a cell may be of any length: what is no CSV is seen by its header, not by its cells."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
