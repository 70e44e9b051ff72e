"""Kill a capture in every one of its passes, resume it each time, and compare it with an uninterrupted run.

    python benchmarks/interrupted.py row UNINTERRUPTED_RUN SCRATCH_FOLDER

The uninterrupted run must be a `--quick` one. What is compared is everything that does not depend on the clock:
numbers of samples and kernels, names and units of counters, graph nodes, checks and hashes of the outputs,
what was built. Exit status 0 when nothing differs, 1 otherwise.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a bare checkout needs no installation

# Rows and values that a second run of the same code on the same machine must repeat.
SAME = {
    "rows of samples": "SELECT pass, case_id, quantity, count(*) FROM sample GROUP BY ALL ORDER BY ALL",
    "kernels": "SELECT pass, r.name, r.payload, k.name, count(*) "
    "FROM kernel AS k JOIN range AS r USING (pass, range_id) GROUP BY ALL ORDER BY ALL",
    "counters": "SELECT pass, range_name, invocation, ordinal, name, metric, unit, original_unit, count(*) "
    "FROM counter GROUP BY ALL ORDER BY ALL",
    "graph nodes": "SELECT * FROM graph_node ORDER BY ALL",
    "graph setup": "SELECT pass, case_id, step, count(*) FROM graph_setup GROUP BY ALL ORDER BY ALL",
    "checks": "SELECT * FROM validation ORDER BY ALL",
    "outputs": "SELECT * FROM driven ORDER BY ALL",
    "builds": "SELECT * FROM build ORDER BY ALL",
    "sanitizer": "SELECT * FROM sanitizer ORDER BY ALL",
    "passes": "SELECT pass, state FROM pass ORDER BY ALL",
    "findings": "SELECT * FROM finding ORDER BY ALL",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment")
    parser.add_argument("uninterrupted", type=Path, help="a finished --quick run")
    parser.add_argument("scratch", type=Path, help="folder for the run that is interrupted")
    options = parser.parse_args()
    from nsight_suite.protocol import load
    from nsight_suite.sources import find_experiment

    run = options.scratch / "interrupted"
    command = [options.experiment, "--quick", "--out", str(run)]
    for settings in load(find_experiment(options.experiment).protocol).passes:
        kill_in(settings.name, run, command)
        command = ["--resume", str(run)]
    status = capture(command).wait()
    print(f"resumed to the end, exit status {status}")
    return compare(options.uninterrupted, run)


def capture(arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nsight_suite.capture", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_in(name: str, run: Path, arguments: list[str]) -> None:
    """Start or resume the capture, and kill it half a second into the named pass."""
    process = capture(arguments)
    while not (run / "work" / name).is_dir():
        if process.poll() is not None:
            sys.exit(f"the capture ended before its pass {name} began")
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = sorted(path.stem for path in (run / "passes").glob("*.json"))
    print(f"killed in {name}; finished before: {', '.join(done) or 'nothing'}")


def compare(left: Path, right: Path) -> int:
    from nsight_suite import open_run

    differing = 0
    with open_run(left) as one, open_run(right) as other:
        for what, sql in SAME.items():
            found = one.sql(sql, as_="rows"), other.sql(sql, as_="rows")
            differing += found[0] != found[1]
            print(f"{what}: {len(found[0])} rows, {'the same' if found[0] == found[1] else 'DIFFERENT'}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
