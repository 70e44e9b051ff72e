"""Which rows of an ncu CSV are of one launch, where a file holds several tables.

The raw and the details page of one report name the same launches. Two tables of one kind never do, though all
that they tell of a launch may be equal: process IDs repeat in containers, and every run counts from 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_LONGEST_ID = 18
_OTHER = {"raw": "details", "details": "raw"}
# ID, process ID, name, grid, block.
Key = tuple[str, ...]


@dataclass(frozen=True)
class _Launch:
    number: int
    process: int | None


@dataclass
class Launches:
    """The launches met so far; `repeated` counts those that look like an earlier one of their kind."""

    repeated: int = 0
    _kind: str = ""
    _met: set[Key] = field(default_factory=set)
    # Those that only the other kind of page has told of, by that kind.
    _half_told: dict[tuple[str, Key], list[_Launch]] = field(default_factory=dict)
    _of_table: dict[Key, _Launch] = field(default_factory=dict)
    _numbers: set[int] = field(default_factory=set)
    _highest: int = -1
    _table: int = 0
    # In which table an ID of a process was first met.
    _table_of_id: dict[Key, int] = field(default_factory=dict)
    _processes: dict[str, int] = field(default_factory=dict)
    _processes_of_table: dict[str, int | None] = field(default_factory=dict)
    _process_count: int = 0

    def begin_table(self, kind: str) -> None:
        """From here on rows are of another table: of the kind "raw" or "details"."""
        self._kind = kind
        self._of_table, self._processes_of_table = {}, {}
        self._table += 1

    def place(self, key: Key) -> tuple[int, int | None]:
        """The number of the launch that a row is of, and of its process.

        A details page has many rows of a launch, a raw page one. A launch of another table is the same when
        just one is equal that no page of this kind has told of yet.
        """
        if self._kind == "details" and (launch := self._of_table.get(key)):
            return launch.number, launch.process
        told_by_other = self._half_told.get((_OTHER[self._kind], key), [])
        if len(told_by_other) == 1:
            launch = told_by_other.pop()
        else:
            self.repeated += key in self._met
            self._met.add(key)
            launch = _Launch(self._number(key[0]), self._process(key))
            self._half_told.setdefault((self._kind, key), []).append(launch)
        self._of_table[key] = launch
        self._processes_of_table.setdefault(key[1], launch.process)
        self._table_of_id.setdefault(key[:2], self._table)
        return launch.number, launch.process

    def _number(self, printed: str) -> int:
        """The printed ID where it is free; other processes, or a table of another run, may repeat it."""
        number = int(printed) if len(printed) <= _LONGEST_ID else self._highest + 1
        if number in self._numbers:
            number = self._highest + 1
        self._numbers.add(number)
        self._highest = max(self._highest, number)
        return number

    def _process(self, key: Key) -> int | None:
        """The number of the process. An ID that comes again in another table is of another process."""
        pid = key[1]
        if not pid:
            return None
        if pid in self._processes_of_table:
            return self._processes_of_table[pid]
        if pid not in self._processes or self._table_of_id.get(key[:2], self._table) < self._table:
            self._processes[pid] = self._process_count
            self._process_count += 1
        return self._processes[pid]
