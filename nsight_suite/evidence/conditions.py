"""What each pass was measured under: the GPU of its driver, and that GPU's state before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsight_suite.evidence.store import open_store
from nsight_suite.evidence.tables import tables
from nsight_suite.manifest import Conditions
from nsight_suite.runfolder import RunFolder

_PASSES = (
    "SELECT pass.pass, state, uuid, name, driver_version FROM pass LEFT JOIN device USING (pass) ORDER BY ALL"
)
_STATES = "SELECT * FROM device_state ORDER BY ALL"
_MOMENTS = ("before", "after")


def conditions(run: RunFolder) -> dict[str, Conditions]:
    """The conditions of the passes in the evidence, by pass. What no evidence tells stays None."""
    with open_store(run, missing_as_empty=True, sql=_PASSES, also=("device_state",)).connection as connection:
        passes = connection.execute(_PASSES).fetchall()
        states = connection.execute(_STATES).fetchall()
    columns = tables()["device_state"].column_names
    told: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in states:
        state = dict(zip(columns, row, strict=True))
        told.setdefault(state.pop("pass"), {})[state.pop("moment")] = state
    return {
        name: Conditions(
            ended,
            dict(zip(("uuid", "name", "driver_version"), device, strict=True)) if any(device) else None,
            *(told.get(name, {}).get(moment) for moment in _MOMENTS),
        )
        for name, ended, *device in passes
    }
