"""Memory that is freed stays with the process for a while, since fresh memory costs more than the work on it.

glibc gives every large block back to the system at once, and asks for a new one, filled with zeros, for the
next array. A reader that makes arrays of one size over and over spends a third of its time on that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

# Of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_ALL = (1 << 31) - 1
# Where glibc's own rule ends for a process that frees large blocks.
_LARGEST_MMAP = 32 << 20


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Inside the block, freed memory is used again; behind it, what is free goes back to the system.

    It holds for the whole process, for which glibc then no longer moves its thresholds by itself. Where the C
    library is another than glibc, nothing is different.
    """
    library = ctypes.CDLL(None)
    if not (hasattr(library, "mallopt") and hasattr(library, "malloc_trim")):
        yield
        return
    # Before 2.35 glibc takes no more than half of what a thread's heap may hold.
    library.mallopt(_MMAP_THRESHOLD, _ALL) or library.mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP)
    library.mallopt(_TRIM_THRESHOLD, _ALL)
    try:
        yield
    finally:
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP)
        library.mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_MMAP)
        library.malloc_trim(0)
