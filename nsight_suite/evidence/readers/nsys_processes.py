"""Which of the processes that a report lists are the program's. nsys lists all processes of the machine."""

from __future__ import annotations

from collections.abc import Collection

from nsight_suite.evidence.readers.nsys_export import Export, find


def listed_processes(export: Export, active: Collection[int]) -> list[tuple[int, int | None]]:
    """Global id and process id of those that are active, and of others of the same program, which are not.

    Programs are told by their names, which go no further. A report without names lists the program's own.
    """
    table = find(export, "PROCESSES")
    rows = export.rows(table, ("globalPid", "pid", "name")) if table else []
    programs = {name for process, _, name in rows if process in active}
    return [
        (process, pid if isinstance(pid, int) else None)
        for process, pid, name in rows
        if isinstance(process, int) and (process in active or name is None or name in programs)
    ]
