"""Which kernel of tuned.cu takes which rows, with which launch shape: the rule of `row/tuned`.

Pure Python: nothing is searched or timed here. RULE is read from top to bottom, and the first line that fits
decides; CANDIDATES are what `benchmarks/kernels.py --sweep` times beside it, so that the rule can be checked.
"""

from __future__ import annotations

from typing import NamedTuple

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


def _in_warp(kernel: str, lanes: int, threads: int) -> Choice:
    """A kernel that gives a row so many lanes of a warp."""
    return Choice(kernel, threads, threads // lanes)


# Width, least number of rows, choice: the best of what was timed on an H200 (the table in tuned.cu), the
# simplest where the times are equal. Only the numbers of rows in the protocol were timed. Thresholds:
#   256 rows of 128     a block costs 0.6 ns, so from here on a warp to each costs more than the noise of 0.1 µs
#   8192 rows of 1024   x and y, 67 MB, no longer fit the L2 cache, and two warps per row, not four, are faster
RULE: tuple[tuple[int, int, Choice], ...] = (
    (128, 256, _in_warp("row_128_l8q4", 8, 128)),
    (128, 1, _in_warp("row_128_l32q1", 32, 32)),
    (1024, 8192, Choice("row_1024_w2q4_ls", 64)),
    (1024, 1, Choice("row_1024_w4q2_ls", 128)),
    (4096, 1, Choice("row_4096_w8q4", 256)),
)

# What the sweep times for rows of a width: the rule's kernels, what equals them within noise, and what is not
# timed yet (…_c).
CANDIDATES: dict[int, tuple[Choice, ...]] = {
    128: (
        _in_warp("row_128_l32q1", 32, 32),
        _in_warp("row_128_l32q1", 32, 256),
        _in_warp("row_128_l8q4", 8, 128),
        Choice("row_128_w1q1_c", 32),
    ),
    1024: (
        Choice("row_1024_w2q4_ls", 64),
        Choice("row_1024_w4q2_ls", 128),
        Choice("row_1024_w4q2_ls_c", 128),
    ),
    4096: (Choice("row_4096_w8q4", 256), Choice("row_4096_w4q8_ls", 128)),
}


def choose(rows: int, columns: int) -> Choice:
    """The rule. Raises ValueError for rows that no kernel of tuned.cu takes."""
    for width, least, choice in RULE:
        if columns == width and rows >= least and rows % choice.rows == 0:
            return choice
    if not 0 < columns <= HELD * MOST_THREADS:
        raise ValueError(f"row/tuned takes rows of 1 to {HELD * MOST_THREADS} columns, not {columns}")
    return Choice("row_any", min(MOST_THREADS, max(WARP, -(-columns // (8 * WARP)) * WARP)))


def candidates(rows: int, columns: int) -> tuple[Choice, ...]:
    """What else could take these rows, the rule's choice among it."""
    others = (choice for choice in CANDIDATES.get(columns, ()) if rows % choice.rows == 0)
    return tuple(dict.fromkeys((choose(rows, columns), *others)))
