"""What a run is made with besides its protocol. Passes made with different code or tools do not go together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import nsight_suite
from nsight_suite.errors import UsageError
from nsight_suite.runfolder import RunFolder
from nsight_suite.sources import ExperimentSource

_TOOLKIT = Path(nsight_suite.__file__).parent / "driving"
_SOURCES = (".py", ".cu", ".cuh")


def made_with(source: ExperimentSource) -> dict[str, str]:
    """The suite's version, and SHA-256 of the driver, of its toolkit and of the kernels with their headers."""
    kernels = source.kernels
    return {
        "nsight_suite": nsight_suite.__version__,
        "toolkit": _sha256(_TOOLKIT.iterdir()),
        "driver": _sha256(source.folder.glob("*.py")),
        "kernels": _sha256((*kernels.rglob("*"), *kernels.parent.glob("*.cuh"))),
    }


def refuse_incomplete(source: ExperimentSource, name: str) -> None:
    """Raises UsageError when a file that every experiment has is missing, or `name` is not the folder's."""
    there = {
        source.driver: source.driver.is_file(),
        source.expected: source.expected.is_file(),
        source.kernels: source.kernels.is_dir(),
    }
    if lacking := [str(path) for path, found in there.items() if not found]:
        raise UsageError(
            f"The experiment '{name}' is not whole; it lacks {', '.join(lacking)}.",
            "docs/adding-an-experiment.md tells what each file holds.",
        )
    if name != source.name:
        raise UsageError(
            f"The protocol {source.protocol} calls its experiment '{name}', its folder is '{source.name}'.",
            "The two must be the same: commands find an experiment by either.",
        )


def refuse_another_origin(run: RunFolder, source: ExperimentSource, versions: Mapping[str, str]) -> None:
    """Raises UsageError when a pass made now would be made with anything else than those that are finished.

    `versions` are those of the tools and libraries that are installed now.
    """
    before, now = run.read_run().get("made_with") or {}, made_with(source)
    changed = [name for name in now if before.get(name) != now[name]]
    for record in run.pass_records().values():
        used = record["tools"] if record["state"] == "ok" else {}
        changed += [
            f"{name} ({used[name]} → {versions[name]})"
            for name in used
            if versions.get(name, used[name]) != used[name]
        ]
    if changed:
        raise UsageError(
            f"Changed since {run.path} was begun: {', '.join(dict.fromkeys(changed))}.",
            "Passes made with different code or tools do not belong into one run: start a new one.",
        )


def _sha256(paths: Iterable[Path]) -> str:
    """Of the sources among these files: their names and contents, in the order of the names."""
    hashed = hashlib.sha256()
    for path in sorted(path for path in paths if path.suffix in _SOURCES):
        hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()
