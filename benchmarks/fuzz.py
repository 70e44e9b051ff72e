"""Look for reports that break a reader, or that it counts wrongly, for as long as one likes.

python benchmarks/fuzz.py --seconds 600 --out /tmp/found

Reports are drawn from the strategies of the tests, and made of the recordings in tests/data by changing bytes.
Each is read, checked as the tests check it, and asked every named query. One that fails is kept in the folder
--out; its path is printed with the error, and the exit status is 1. `--again FILE` checks it once more.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from random_exports import RandomExport, exports, odd_exports  # noqa: E402
from test_fuzz_ncu import outcome, pages  # noqa: E402
from test_fuzz_nsys import QUERIES, alike, consistent  # noqa: E402

from nsight_suite.errors import BadReport, SuiteError  # noqa: E402
from nsight_suite.evidence.direct import open_report  # noqa: E402
from nsight_suite.evidence.ingested import LooseReport  # noqa: E402
from nsight_suite.evidence.readers import ncu_csv, ncu_rep, nsys  # noqa: E402
from nsight_suite.evidence.store import Store, create_shared_views, empty_store  # noqa: E402
from nsight_suite.querying import find_query, run_named  # noqa: E402

DATA = ROOT / "tests" / "data"
# A report that is read for longer than this hangs.
LONGEST_S = 60
ROUND = 10


def check_nsys(path: Path) -> None:
    """Read an export; what it holds must be consistent, and every query must have an answer."""
    with empty_store() as connection:
        try:
            nsys.read(connection, path, "r")
        except BadReport:
            return
        create_shared_views(connection)
        consistent(path, connection)
        store = Store(connection, {})
        for name in QUERIES:
            run_named(store, name)
        for name in ("kernel_summary", "range_projection", "range_summary"):
            asked = open_report(LooseReport("r", path, "nsys-sqlite", path.name), find_query(name).sql)
            at_once, whole = (run_named(one, name).records() for one in (asked, store))
            assert alike(at_once) == alike(whole), f"{name} asked at once has another answer"


def check_damaged_nsys(path: Path) -> None:
    """The same for an export with damage, whose cells may make no sense: then a query may say so."""
    with empty_store() as connection:
        try:
            nsys.read(connection, path, "r")
        except BadReport:
            return
        create_shared_views(connection)
        for name in QUERIES:
            try:
                run_named(Store(connection, {}), name)
            except SuiteError:
                continue


def check_csv(path: Path) -> None:
    """Read a page; whatever has no value has a reason."""
    with empty_store() as connection:
        try:
            ncu_csv.read(connection, path, "r")
        except BadReport:
            return
        silent = "SELECT count(*) FROM counter WHERE value IS NULL AND text IS NULL AND reason IS NULL"
        assert connection.execute(silent).fetchone() == (0,), "what is missing has no reason"


def check_rep(path: Path) -> None:
    """Read a report in a process of its own, which NVIDIA's package may end."""
    child = os.fork()
    if not child:
        status = 1
        try:
            outcome(path.read_bytes(), ncu_rep.read, "ncu.ncu-rep")
            status = 0
        except Exception:
            traceback.print_exc()
        os._exit(status)
    _, ended = os.waitpid(child, 0)
    assert ended == 0, f"the process that read it ended with status {ended}"


CHECKS: dict[str, Callable[[Path], None]] = {
    "exports.sqlite": check_nsys,
    "odd.sqlite": check_nsys,
    "damaged.sqlite": check_damaged_nsys,
    "pages.csv": check_csv,
    "damaged.csv": check_csv,
    "damaged.ncu-rep": check_rep,
}


def mutated(raw: bytes, chance: random.Random) -> bytes:
    """The bytes with one to four changes of the kinds that files suffer."""
    changed = bytearray(raw)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) or 1)
        size = chance.choice([1, 1, 1, 2, 4, 16, 200])
        match chance.randrange(8):
            case 0 | 1 | 2 if changed:
                changed[at] ^= 1 << chance.randrange(8)
            case 3:
                changed[at : at + size] = chance.randbytes(size)
            case 4:
                changed[at : at + size] = bytes([chance.choice([0, 1, 10, 34, 44, 127, 128, 255])]) * size
            case 5:
                del changed[at : at + size]
            case 6:
                changed[at:at] = changed[at : at + size]
            case 7 if chance.random() < 0.3:
                del changed[at:]
    return bytes(changed)


class Fuzzer:
    """Checks reports, and keeps those that fail."""

    def __init__(self, out: Path, until: float) -> None:
        self.out, self.until = out, until
        self.tried = dict.fromkeys(CHECKS, 0)
        self.failures: dict[str, Path] = {}

    def over(self) -> bool:
        return time.monotonic() > self.until

    def check(self, kind: str, write: Callable[[Path], object]) -> None:
        if self.over():
            return
        self.tried[kind] += 1
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"r{Path(kind).suffix}"
            write(path)
            try:
                signal.alarm(LONGEST_S)
                CHECKS[kind](path)
            except Exception:
                self._keep(kind, path, traceback.format_exc())
            finally:
                signal.alarm(0)

    def _keep(self, kind: str, path: Path, told: str) -> None:
        # One report for each place that fails, in our code or in that of a check.
        place = [line for line in told.splitlines() if line.startswith("  File") and str(ROOT) in line][-1]
        last = told.strip().splitlines()[-1]
        if place + last[:60] in self.failures:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        kept = self.out / f"{sha256(path.read_bytes()).hexdigest()[:12]}-{kind}"
        shutil.copyfile(path, kept)
        self.failures[place + last[:60]] = kept
        print(f"{kept}\n{place}\n{last[:600]}\n", flush=True)


def _hang(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not read within {LONGEST_S} s")


def _draw(fuzzer: Fuzzer, kind: str, strategy: st.SearchStrategy[Any], how: settings, number: int) -> None:
    @seed(number)
    @how
    @given(strategy)
    def one_round(report: Any) -> None:
        if isinstance(report, RandomExport):
            fuzzer.check(kind, report.write)
        else:
            fuzzer.check(kind, lambda path: path.write_text(report.text, encoding="utf-8"))

    one_round()


def run(fuzzer: Fuzzer, chance: random.Random) -> None:
    drawn = settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "exports.sqlite": exports(),
        "odd.sqlite": odd_exports(),
        "pages.csv": pages(),
    }
    while not fuzzer.over():
        for kind, strategy in strategies.items():
            _draw(fuzzer, kind, strategy, settings(drawn), chance.randrange(2**32))
        for kind in ("damaged.sqlite", "damaged.csv", "damaged.ncu-rep"):
            recordings = sorted(DATA.glob(f"*{Path(kind).suffix}"))
            for _ in range(ROUND):
                raw = mutated(chance.choice(recordings).read_bytes(), chance)
                fuzzer.check(kind, partial(Path.write_bytes, data=raw))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="how long to go on (300)")
    parser.add_argument("--seed", type=int, default=0, help="where chance begins (0)")
    parser.add_argument("--out", type=Path, default=Path("fuzz-found"), help="folder for reports that fail")
    parser.add_argument("--again", type=Path, metavar="FILE", help="check one kept report, with its traceback")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _hang)
    if arguments.again:
        CHECKS[arguments.again.name.split("-", 1)[1]](arguments.again)
        return 0
    fuzzer = Fuzzer(arguments.out, time.monotonic() + arguments.seconds)
    run(fuzzer, random.Random(arguments.seed))
    print(", ".join(f"{kind}: {count}" for kind, count in fuzzer.tried.items()))
    print(f"{len(fuzzer.failures)} kinds of failures")
    return 1 if fuzzer.failures else 0


if __name__ == "__main__":
    sys.exit(main())
