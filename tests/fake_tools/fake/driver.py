"""A driver without a GPU: reads a plan, writes records, and misbehaves in the pass that a test names.

FAKE_DRIVER=PASS:FAULT, with FAULT one of
    hang     write half of the records, start a child that hangs too, and wait for ever
    fail     end with a check that failed
    cut      end without the last line, with a message on stderr
    deaf     like hang, but do not listen to SIGTERM
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--records", type=Path, required=True)
    options = parser.parse_args()
    plan = json.loads(options.plan.read_text())
    pass_name, _, fault = os.environ.get("FAKE_DRIVER", "").partition(":")
    fault = fault if pass_name == plan["pass"] else ""
    print("suite importable:", importlib.util.find_spec("nsight_suite") is not None)
    print("injected:", sorted(name for name in os.environ if "INJECTION" in name or name.startswith("NSYS_")))
    builds = options.records.parent / "build"
    builds.mkdir(exist_ok=True)
    (builds / "plain.sm_90.log").write_text(f"compiled for the pass {plan['pass']}\n")
    with options.records.open("w") as file:

        def write(record: dict[str, object]) -> None:
            file.write(json.dumps(record) + "\n")
            file.flush()

        for done, case_id in enumerate(plan["cases"]):
            write({"table": "_progress", "done": done, "total": len(plan["cases"]), "what": case_id})
            if done == len(plan["cases"]) // 2:
                if fault in ("hang", "deaf"):
                    hang(deaf=fault == "deaf")
                if fault == "cut":
                    print("Segmentation fault (fake)", file=sys.stderr)
                    return 3
                if fault == "fail":
                    write(
                        {"table": "_end", "state": "failed", "reason": f"the check 'error' failed in {case_id}"}
                    )
                    return 1
            write({"table": "driven", "case_id": case_id, "invocations": plan["invocations"]})
            if plan["pass"] == "timing":
                for number in range(plan["rounds"]):
                    write(sample(case_id, number))
        write({"table": "_end", "state": "ok"})
    return 0


def sample(case_id: str, number: int) -> dict[str, object]:
    return {
        "table": "sample",
        "case_id": case_id,
        "quantity": "completion",
        "round": number,
        "position": 0,
        "invocations": 1,
        "duration_ns": 10_000 + number,
    }


def hang(*, deaf: bool) -> None:
    """Wait for ever, with a child in a session of its own, as a profiler's daemon would be."""
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if deaf else ""
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = f"{ignore}import time; time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    Path("grandchild").write_text(str(child.pid))
    time.sleep(600)


if __name__ == "__main__":
    sys.exit(main())
