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
    """A kernel and its blocks: threads, and the rows that a block takes, which must divide all rows.

    `resident` is not zero for a persistent kernel: the blocks per multiprocessor that it is launched with.
    """

    kernel: str
    threads: int
    rows: int = 1
    resident: int = 0

    @property
    def name(self) -> str:
        """Short, without the width: w2q4_s×128 …"""
        return f"{self.kernel.removeprefix('row_').partition('_')[2] or self.kernel}x{self.threads}"

    def grid(self, rows: int, multiprocessors: int) -> int:
        return min(rows, self.resident * multiprocessors) if self.resident else rows // self.rows


def _in_warp(kernel: str, lanes: int, threads: int) -> Choice:
    """A kernel that gives a row so many lanes of a warp."""
    return Choice(kernel, threads, threads // lanes)


# Width, least number of rows, choice.
RULE: tuple[tuple[int, int, Choice], ...] = (
    (128, 1024, _in_warp("row_128_l8q4", 8, 128)),
    (128, 1, _in_warp("row_128_l32q1", 32, 32)),
    (1024, 8192, Choice("row_1024_w2q4_s", 64)),
    (1024, 1024, _in_warp("row_1024_w1q8", 32, 128)),
    (1024, 1, Choice("row_1024_w4q2", 128)),
    (4096, 1, Choice("row_4096_w8q4_s", 256)),
)

CANDIDATES: dict[int, tuple[Choice, ...]] = {
    128: (
        _in_warp("row_128_l32q1", 32, 32),
        _in_warp("row_128_l32q1", 32, 128),
        _in_warp("row_128_l32q1", 32, 256),
        _in_warp("row_128_l16q2", 16, 128),
        _in_warp("row_128_l8q4", 8, 32),
        _in_warp("row_128_l8q4", 8, 64),
        _in_warp("row_128_l8q4", 8, 128),
    ),
    1024: (
        _in_warp("row_1024_w1q8", 32, 32),
        _in_warp("row_1024_w1q8", 32, 64),
        _in_warp("row_1024_w1q8", 32, 128),
        _in_warp("row_1024_w1q8_s", 32, 128),
        _in_warp("row_1024_w1q8_ls", 32, 128),
        Choice("row_1024_w2q4", 64),
        Choice("row_1024_w2q4_s", 64),
        Choice("row_1024_w2q4_l", 64),
        Choice("row_1024_w2q4_ls", 64),
        Choice("row_1024_w4q2", 128),
        Choice("row_1024_w4q2_ls", 128),
        Choice("row_1024_w8q1", 256),
        Choice("row_1024_w2q4_p", 64, resident=16),
    ),
    4096: (
        Choice("row_4096_w4q8_ls", 128),
        Choice("row_4096_w8q4", 256),
        Choice("row_4096_w8q4_s", 256),
        Choice("row_4096_w8q4_l", 256),
        Choice("row_4096_w8q4_ls", 256),
        Choice("row_4096_w16q2_ls", 512),
        Choice("row_4096_w8q4_p", 256, resident=4),
    ),
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
