# mypy: ignore-errors
"""Row softmax in Triton, as one writes it well: a peer of benchmarks/kernels.py.

`rows_at_once` gives a program some whole rows; `rows_in_turn` is Triton's own tutorial, persistent programs
that walk over the rows with their loads pipelined.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rows_at_once(x, y, columns: tl.constexpr, per_program: tl.constexpr):
    rows = tl.program_id(0) * per_program + tl.arange(0, per_program)
    at = rows[:, None] * columns + tl.arange(0, columns)[None, :]
    values = tl.load(x + at)
    shifted = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(y + at, shifted / tl.sum(shifted, axis=1)[:, None])


@triton.jit
def rows_in_turn(x, y, rows, columns: tl.constexpr, stages: tl.constexpr):
    at = tl.arange(0, columns)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=stages):
        values = tl.load(x + row * columns + at)
        shifted = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + row * columns + at, shifted / tl.sum(shifted, axis=0))


def configurations(rows, columns, multiprocessors):
    """(name, kernel, grid, options) of each configuration worth a try at these rows."""
    found = []
    for per_program, warps in {
        128: ((1, 1), (4, 1), (8, 2), (16, 4)),
        1024: ((1, 1), (1, 2), (1, 4), (1, 8), (4, 4)),
        4096: ((1, 4), (1, 8), (1, 16)),
    }[columns]:
        if rows % per_program == 0:
            options = {"columns": columns, "per_program": per_program, "num_warps": warps}
            found.append(
                (f"{per_program} rows, {warps} warps", rows_at_once, (rows // per_program,), (), options)
            )
    if rows >= 4096 and columns >= 1024:
        warps, blocks = {1024: (4, 8), 4096: (8, 4)}[columns]
        options = {"columns": columns, "stages": 3, "num_warps": warps}
        grid = (min(rows, blocks * multiprocessors),)
        found.append((f"persistent, {warps} warps, {blocks} blocks", rows_in_turn, grid, (rows,), options))
    return found
