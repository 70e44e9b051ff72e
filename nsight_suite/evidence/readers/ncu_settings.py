"""How an ncu report was made and where, as far as it tells."""

from __future__ import annotations

from typing import NamedTuple

UNKNOWN = "unknown"


class Policies(NamedTuple):
    """Options of ncu that decide what its counters mean; "unknown" where the report does not tell.

    cache_control    all (flushed before each kernel) or none
    clock_control    base (locked) or none
    graph_profiling  node, or graph (a whole replay is one workload)
    """

    cache_control: str
    clock_control: str
    graph_profiling: str


class Identity(NamedTuple):
    """What machine, programs and GPUs a report is of. Only to be compared with another report's, never kept."""

    hosts: frozenset[str]
    programs: frozenset[str]
    gpus: frozenset[str]
