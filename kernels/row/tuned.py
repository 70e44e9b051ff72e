"""Which kernel of tuned.cu takes which rows, with which launch shape.

Pure Python: nothing is searched or timed here. The rule itself stands in the protocol, [rules] tuned;
CANDIDATES are what `benchmarks/kernels.py --sweep` times beside its choice, so that it can be checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

WARP = 32
HELD = 16  # floats per thread of row_any, as in tuned.cu
MOST_THREADS = 1024


class Choice(NamedTuple):
    """A kernel and its blocks: threads, and the rows that a block takes, which must divide all rows."""

    kernel: str
    threads: int
    rows: int = 1

    @property
    def name(self) -> str:
        """Short, without the width: w2q4_lsx64 …"""
        return f"{self.kernel.removeprefix('row_').partition('_')[2] or self.kernel}x{self.threads}"

    def grid(self, rows: int) -> int:
        """Blocks that take so many rows."""
        return rows // self.rows


# By width: the rule's kernels, and what equals them within noise.
CANDIDATES: dict[int, tuple[Choice, ...]] = {
    128: (
        Choice("row_128_l32q1", 32, 1),
        Choice("row_128_l32q1", 256, 8),
        Choice("row_128_l8q4", 128, 16),
        Choice("row_128_l32q1_c1", 32, 1),
        Choice("row_128_l32q1_c8", 256, 8),
        Choice("row_128_l32q1_c16", 512, 16),
        Choice("row_128_l32q1_c32", 1024, 32),
    ),
    1024: (Choice("row_1024_w2q4_ls", 64), Choice("row_1024_w4q2_ls", 128)),
    4096: (Choice("row_4096_w8q4", 256), Choice("row_4096_w4q8_ls", 128)),
}


def choose(rule: Iterable[Mapping[str, Any]], rows: int, columns: int) -> Choice:
    """What the first fitting line of the rule says: columns, rows (at least), kernel, threads, rows_per_block.

    Raises ValueError for rows that no kernel of tuned.cu takes.
    """
    for line in rule:
        if columns == line["columns"] and rows >= line["rows"] and rows % line["rows_per_block"] == 0:
            return Choice(line["kernel"], line["threads"], line["rows_per_block"])
    if not 0 < columns <= HELD * MOST_THREADS:
        raise ValueError(f"row/tuned takes rows of 1 to {HELD * MOST_THREADS} columns, not {columns}")
    return Choice("row_any", min(MOST_THREADS, max(WARP, -(-columns // (8 * WARP)) * WARP)))


def candidates(rows: int, columns: int) -> tuple[Choice, ...]:
    """What could take these rows."""
    return tuple(choice for choice in CANDIDATES.get(columns, ()) if rows % choice.rows == 0)
