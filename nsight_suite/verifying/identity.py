"""One run throughout: its name, protocol, GPUs and tools are the same wherever they are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nsight_suite.evidence.store import Store
from nsight_suite.manifest import PassEntry
from nsight_suite.querying import open_evidence
from nsight_suite.runfolder import sha256
from nsight_suite.verifying.checks import Check, Findings, Subject
from nsight_suite.verifying.records import records

NAME = "identity"
ABOUT = "run, protocol, GPUs and tools are the same in run.json, passes, manifest, records and evidence"

_PROTOCOL = "protocol/protocol.toml"
_RUN = ("run_id", "experiment", "created_utc", "protocol_sha256", "source", "quick")
_MANIFEST_ALONE = ("state", "suite_version", "made_with")
_DEVICE = ("uuid", "name", "driver_version")
_RECORDS = ".jsonl"
_RUNS = 'SELECT * FROM "run"'
_TABLES = ("device", "device_state", "tool")


def check(subject: Subject) -> Check:
    """What the run says of itself, wherever it says it."""
    found = Findings()
    with found.readable("run.json"):
        info = subject.info
        if info["state"] != "complete":
            found.note(f"the run is {info['state']}: not every pass that it was asked for has ended well")
        _protocol(subject, found)
        if subject.manifest:
            _same("manifest.json", subject.manifest, info, (*_RUN, *_MANIFEST_ALONE), found)
            if list(subject.manifest.argv) != list(info.get("argv", ())):
                found.fail("manifest.json", "tells another command line (argv) than run.json")
        with found.readable("evidence"):
            # Comparing needs only what is there; what is missing is told by other checks.
            store = open_evidence(subject.plain, missing_as_empty=True, sql=_RUNS, also=_TABLES)
            with store.connection:
                _evidence(subject, store, found)
                _passes(subject, store, found)
        _pages(subject, found)
    return found.as_check(NAME, ABOUT)


def _protocol(subject: Subject, found: Findings) -> None:
    told = subject.info.get("protocol_sha256")
    if _PROTOCOL not in subject.files:
        if told:
            found.fail(_PROTOCOL, "is not here, and run.json tells its SHA-256")
        return
    found.count("values")
    now = sha256(subject.path(_PROTOCOL))
    if told is None:
        found.miss("run.json does not tell the protocol's SHA-256")
    elif now != told:
        found.fail(_PROTOCOL, f"has the SHA-256 {now}; run.json says {told}")


def _same(where: str, one: object, info: Mapping[str, Any], keys: Iterable[str], found: Findings) -> None:
    for key in keys:
        found.count("values")
        told, mine = getattr(one, key), info.get(key)
        if told != mine:
            found.fail(where, f"says {key} {told!r}; run.json says {mine!r}")


def _evidence(subject: Subject, store: Store, found: Findings) -> None:
    rows = store.rows(_RUNS)
    if len(rows) != 1:
        found.fail("evidence/run.parquet", f"tells of {len(rows)} runs")
        return
    for key in _RUN:
        found.count("values")
        # That an ingested run has no experiment is an empty name in the one and NULL in the other.
        mine, held = (of or None if key == "experiment" else of for of in (subject.info.get(key), rows[0][key]))
        if held != mine:
            found.fail("evidence/run.parquet", f"says {key} {held!r}; run.json says {mine!r}")


def _passes(subject: Subject, store: Store, found: Findings) -> None:
    """Device, its state, and tools of every pass: by its record, manifest, raw records and evidence."""
    devices = _by_pass(store.rows(f"SELECT pass, {', '.join(_DEVICE)} FROM device ORDER BY ALL"))
    states = _by_pass(store.rows("SELECT * FROM device_state ORDER BY ALL"))
    tools: dict[str, dict[str, Any]] = {}
    for row in store.rows("SELECT pass, name, version FROM tool ORDER BY ALL"):
        tools.setdefault(row["pass"], {})[row["name"]] = row["version"]
    entries = subject.manifest.passes if subject.manifest else {}
    recorded = subject.run.pass_records()
    for name in dict.fromkeys([*subject.info["passes"], *recorded, *entries]):
        record, entry = recorded.get(name), entries.get(name)
        if record:
            _tools(f"passes/{name}.json", record["tools"], tools.get(name, {}), found)
        if entry:
            _entry(
                name,
                entry,
                record=record,
                devices=devices.get(name, []),
                states=states.get(name, []),
                found=found,
            )
        _raw_device(subject, name, devices.get(name, []), found)
    if subject.manifest and subject.info["experiment"]:
        for name in subject.info["passes"]:
            if name not in entries:
                found.fail("manifest.json", f"does not tell of the pass {name}, which run.json asked for")


def _by_pass(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["pass"], []).append({key: row[key] for key in row if key != "pass"})
    return found


def _tools(where: str, told: Mapping[str, Any], held: Mapping[str, Any], found: Findings) -> None:
    for tool, version in told.items():
        found.count("values")
        if held.get(tool) != version:
            found.fail(where, f"says {tool} {version!r}; the evidence says {held.get(tool)!r}")


def _entry(
    name: str,
    entry: PassEntry,
    *,
    record: Mapping[str, Any] | None,
    devices: list[Mapping[str, Any]],
    states: list[Mapping[str, Any]],
    found: Findings,
) -> None:
    """What the manifest says of a pass."""
    where = f"manifest.json, pass {name}"
    if record:
        found.count("values", 1 + len(record["tools"]))
        if entry.state != record["state"]:
            found.fail(where, f"says {entry.state!r}; passes/{name}.json says {record['state']!r}")
        if dict(entry.tools) != dict(record["tools"]):
            found.fail(where, f"tells other tools than passes/{name}.json")
    told = [dict(entry.device)] if entry.device else []
    found.count("values", len(_DEVICE))
    if told != [dict(device) for device in devices[:1]]:
        found.fail(where, f"tells the GPU {_uuids(told)}; the evidence tells {_uuids(devices)}")
    held = {state["moment"]: {key: state[key] for key in state if key != "moment"} for state in states}
    for moment, mine in (("before", entry.before), ("after", entry.after)):
        if mine is not None or moment in held:
            found.count("values")
            if (dict(mine) if mine is not None else None) != held.get(moment):
                found.fail(where, f"tells another state of the GPU {moment} the pass than the evidence")


def _raw_device(subject: Subject, name: str, devices: list[Mapping[str, Any]], found: Findings) -> None:
    inside = f"reports/{name}{_RECORDS}"
    if inside not in subject.files:
        return
    raw = [{key: record.get(key) for key in _DEVICE} for record in records(subject.path(inside), "device")]
    found.count("values", len(raw))
    if sorted(map(str, raw)) != sorted(str(dict(device)) for device in devices):
        found.fail(inside, f"tells the GPU {_uuids(raw)}; the evidence tells {_uuids(devices)}")


def _uuids(devices: Iterable[Mapping[str, Any]]) -> str:
    return (
        ", ".join(
            f"{device.get('uuid')} ({device.get('name')}, driver {device.get('driver_version')})"
            for device in devices
        )
        or "none"
    )


def _pages(subject: Subject, found: Findings) -> None:
    """Who reads a report alone must read that of this run."""
    for path in ("report.md", "report.html"):
        if path in subject.files:
            found.count("values")
            run_id = str(subject.info["run_id"])
            if run_id not in subject.path(path).read_text(encoding="utf-8", errors="replace"):
                found.fail(path, f"does not name the run {run_id}")
