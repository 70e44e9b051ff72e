"""Which NVTX range a workload stands in, from the two columns that ncu prints with `--nvtx`.

A cell lists ranges as "Domain:Name:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", domain by domain and inside a
domain from the outside in. It does not tell how ranges of different domains nest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nsight_suite.protocol import DOMAIN

DEFAULT_DOMAIN = "<default domain>"
_ENTRY = re.compile(r'"(.*?)"(?=\s+"|\s*$)', re.DOTALL)
# Behind the name: type and value of the payload, type and value of the color, type of the message, the message.
# No domain has as many colons; names of C++ functions may.
_MOST_PARTS = 64
_BEHIND_NAME = 6


@dataclass(frozen=True)
class Range:
    """A range around a workload. `payload` is its integer payload, if it has one."""

    domain: str
    name: str
    payload: int | None


def ranges(cell: str) -> list[Range]:
    """The ranges that a cell lists, in its order."""
    return [found for text in _ENTRY.findall(cell) if (found := _range(text)) is not None]


def _range(entry: str) -> Range | None:
    """The range of one entry; None for what is none.

    Domains and names may hold colons. A message repeats the name, which shows where the domain ends; without a
    message a domain has no colons.
    """
    parts = entry.split(":")
    # Name and message have as many parts; between them stand those of payload, color and the message's type.
    for domain in range(1, min(len(parts) - _BEHIND_NAME, _MOST_PARTS)):
        count, odd = divmod(len(parts) - domain - _BEHIND_NAME + 1, 2)
        message = len(parts) - count
        behind = domain + count
        if not odd and parts[domain] == parts[message] and parts[domain:behind] == parts[message:]:
            return _told(parts, domain, behind)
    behind = len(parts) - _BEHIND_NAME
    return _told(parts, 1, behind) if behind > 1 else None


def _told(parts: list[str], name: int, behind: int) -> Range:
    """The range whose name stands in these parts."""
    return Range(":".join(parts[:name]), ":".join(parts[name:behind]), _integer(parts[behind + 1]))


def start_end_ranges(cell: str) -> list[Range]:
    """The ranges of the column for start/end ranges, whose entries begin with the range's number."""
    return ranges(re.sub(r'"[0-9]+:(?=[^"])', '"', cell))


def innermost(push_pop: list[Range], start_end: list[Range]) -> Range | None:
    """The range that a workload is put down to.

    The innermost push/pop range of the suite's domain; without one that of the default domain, where most
    programs put theirs; else that of the domain listed last; else the start/end range listed last.
    """
    for domain in (DOMAIN, DEFAULT_DOMAIN):
        if inside := [one for one in push_pop if one.domain == domain]:
            return inside[-1]
    found = push_pop or start_end
    return found[-1] if found else None


def _integer(payload: str) -> int | None:
    found = payload.strip()
    number = int(found) if re.fullmatch(r"-?[0-9]{1,19}", found) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None
