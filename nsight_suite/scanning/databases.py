"""Scanning tables: what the columns of an nsys export are for, and every text besides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nsight_suite.evidence.cells import Database
from nsight_suite.evidence.leaks import (
    PAIRS,
    Secret,
    is_environment,
    is_host,
    is_user,
    name_value_pairs,
    secrets_of_database,
)
from nsight_suite.scanning.findings import Kind, Sign, Tally
from nsight_suite.scanning.signs import is_somebody, setting_names, signs_of

_COMMAND = re.compile(r"(PROCESS_\d+:)?(COMMAND|COMMAND_LINE|ARGUMENT_\d+)", re.IGNORECASE)


def scan_database(database: Database, tally: Tally, known: Sequence[Secret]) -> None:
    """Count what every table of a database tells. `known` are private values that are looked for in it."""
    known = [*known, *(secret for secret in secrets_of_database(database) if secret not in known)]

    @lru_cache(maxsize=4096)
    def signs(text: str) -> tuple[Sign, ...]:
        return tuple(signs_of(text, known))

    for table, columns in database.tables.items():
        pair = table in PAIRS and {"name", "value"} <= set(columns)
        if pair:
            for name, value in name_value_pairs(database, [table]):
                tally.add(f"{table}.value", _of_pair(name, value))
        without = ("name", "value") if pair else ()
        for column, text, times in database.texts(table, without):
            tally.add(f"{table}.{column}", signs(text), times)
            if (table, column) == ("PROCESSES", "name"):
                tally.add("PROCESSES.name", [Sign(Kind.PROCESS)], times)
    _scan_output(database, tally)


def _of_pair(name: str, value: str) -> Iterator[Sign]:
    if not value:
        return
    if is_environment(name):
        names = list(dict.fromkeys(setting_names(value.replace(";", "\n"))))
        yield from (Sign(Kind.ENVIRONMENT, name) for name in names or [""])
        return
    yield from signs_of(value)
    if _COMMAND.fullmatch(name):
        yield Sign(Kind.COMMAND)
    elif is_host(name) and is_somebody(value):
        yield Sign(Kind.HOST)
    elif is_user(name) and is_somebody(value):
        yield Sign(Kind.USER)


def _scan_output(database: Database, tally: Tally) -> None:
    """What the program printed is kept among the strings, and ProcessStreams points there."""
    streams, strings = database.tables.get("ProcessStreams", ()), database.tables.get("StringIds", ())
    if "contentId" in streams and {"id", "value"} <= set(strings):
        sql = (
            'SELECT count(*) FROM "ProcessStreams" p JOIN "StringIds" s ON s.id = p."contentId" '
            "WHERE length(s.value) > 0"
        )
        ((count,),) = database.rows(sql)
        if count:
            tally.add("StringIds.value (ProcessStreams)", [Sign(Kind.OUTPUT)], count)
