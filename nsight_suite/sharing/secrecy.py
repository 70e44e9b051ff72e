"""The last look at a copy before it is kept: nothing of machine, user or environment may be in it."""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.errors import SuiteError
from nsight_suite.evidence.leaks import Secret, holds, leaks, secrets_of_export, secrets_of_machine
from nsight_suite.evidence.tables import tables
from nsight_suite.manifest import role_of
from nsight_suite.runfolder import RunFolder
from nsight_suite.scanning import scan
from nsight_suite.scanning.findings import Kind, Leak
from nsight_suite.scanning.signs import signs_of_line

if TYPE_CHECKING:
    from nsight_suite.evidence.store import Connection

_PUBLIC = {"device": ("uuid", "name", "driver_version"), "tool": ("name", "version")}


def secrets_of_run(run: RunFolder, draft: RunFolder, environment: Mapping[str, str]) -> list[Secret]:
    """What would tell of this machine, whose environment is given, and what the run's exports hold."""
    secrets = secrets_of_machine(
        environment,
        host=socket.gethostname(),
        user=_known(getpass.getuser),
        home=_known(Path.home),
        folders=[run.path.resolve(), draft.path.resolve()],
    )
    for export in _exports(run):
        secrets += secrets_of_export(export)
    return secrets


def _known(tell: Callable[[], object]) -> str:
    """What the system tells of its user; empty where it knows neither name nor home, as in many a container."""
    try:
        return str(tell())
    except (KeyError, OSError, RuntimeError):
        return ""


def refuse_leaks(
    draft: RunFolder, files: Iterable[Path], secrets: Sequence[Secret], copied: Connection
) -> None:
    """Raise SuiteError when one of these files of the draft, or its evidence, tells anything private.

    Looked for are the secrets and everything that `scan` knows. `copied` is the evidence, open.
    """
    files = list(files)
    # What the evidence says by design is no secret, even when the environment repeats it.
    public = _texts(copied, _PUBLIC)
    secrets = [secret for secret in secrets if secret.text not in public]
    everything = {
        name: [c.name for c in table.columns if c.type == "VARCHAR"] for name, table in tables().items()
    }
    told = "\n".join(_texts(copied, everything))
    found = [f"{leak.path.relative_to(draft.path)} holds {leak.what}" for leak in leaks(files, secrets)]
    found += [f"evidence holds {secret.what}" for secret in secrets if holds(told, secret)]
    found += [*_scanned(draft, files), *_options_of_compilers(copied)]
    if found:
        shown = "; ".join(list(dict.fromkeys(found))[:5])
        raise SuiteError(
            f"The copy was not kept, because it would tell private things: {shown}.",
            "They are names of ranges, kernels, files or runs, or stand in sources and in what compilers say "
            "of them: change these, and make the run again.",
        )


def _scanned(draft: RunFolder, files: Sequence[Path]) -> Iterator[str]:
    """What the scanner finds in any of these files."""
    looked = scan(files)
    for leak in looked.leaks:
        inside = Path(leak.file).relative_to(draft.path)
        if not _drawn_here(inside.as_posix(), leak):
            place = f" ({leak.place})" if leak.place else ""
            yield f"{inside} holds {_with_article(leak.kind)}{place}"
    for file, why in looked.unreadable:
        yield f"{Path(file).relative_to(draft.path)} cannot be read: {why}"


def _drawn_here(inside: str, leak: Leak) -> bool:
    """A PNG cannot be looked into, but it was drawn a moment ago from the numbers of the SVG beside it."""
    return leak.kind == Kind.OPAQUE and role_of(inside) == "figure"


def _options_of_compilers(copied: Connection) -> Iterator[str]:
    for options in sorted(_texts(copied, {"build": ("options",)})):
        kinds = {sign.kind for option in _each_option(options) for sign in signs_of_line(option)}
        for kind in sorted(kinds):
            yield f"an option of a compiler in the table 'build' holds {_with_article(kind)}"


def _each_option(options: str) -> list[str]:
    """The compiler's options, which the driver writes as a JSON list."""
    try:
        read = json.loads(options)
    except ValueError:
        read = None
    return [str(option) for option in read] if isinstance(read, list) else [options]


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


def _exports(run: RunFolder) -> list[Path]:
    """The exports of nsys that the run was made from and that are still there: what they hold is private."""
    found = list(run.reports.glob("*.sqlite"))
    for entry in run.read_run().get("reports", []):
        path = run.path / (entry["read"] or entry["given"])["path"]
        if entry["form"].startswith("nsys-") and path.exists():
            found.append(path)
    return list(dict.fromkeys(found))


def _texts(connection: Connection, columns: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    for table, names in columns.items():
        for name in names:
            rows = connection.execute(f'SELECT DISTINCT "{name}" FROM "{table}" WHERE "{name}" IS NOT NULL')
            found.update(row[0] for row in rows.fetchall())
    return found
