"""`nsight-suite VERB …` is the same as `python -m nsight_suite.VERB …`."""

from __future__ import annotations

import importlib
import sys

import nsight_suite

VERBS = {
    "capture": "run an experiment in every pass that this machine allows, then reconcile",
    "ingest": "make a run of any nsys or ncu reports",
    "doctor": "check GPU, driver, profilers and permissions, and say the remedies",
    "list": "list experiments, recorded runs, queries and figures",
    "query": "ask a run: a named query or SQL text",
    "reconcile": "judge a run: do profilers, host timing and expectations agree",
    "figures": "draw a run's figures from its evidence",
    "report": "write a run's HTML and Markdown report",
    "share": "copy a run, leaving out all that is private",
    "compare": "compare two runs of one protocol: regressed, improved, within noise, incomparable",
    "verify": "check a run or bundle of anybody's: hashes, numbers, traces, verdicts, figures",
    "claims": "hold the numbers of an article against the runs that it tells of",
    "evidence": "build a run's evidence again from its reports",
    "scan": "tell what a report or folder would leak, without repeating it",
}


def main() -> int:
    """Start the command that the first argument names."""
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    if verb in VERBS:
        sys.argv = [f"nsight-suite {verb}", *sys.argv[2:]]
        module = importlib.import_module(f"nsight_suite.{'evidence.__main__' if verb == 'evidence' else verb}")
        return int(module.main(sys.argv[1:]))
    if verb == "--version":
        print(f"nsight-suite {nsight_suite.__version__}")
        return 0
    help_wanted = verb in ("-h", "--help", "")
    out = sys.stdout if help_wanted else sys.stderr
    if not help_wanted:
        print(f"nsight-suite: there is no command '{verb}'.", file=out)
    print("usage: nsight-suite VERB …   (the same as python -m nsight_suite.VERB …)\n", file=out)
    for name, what in VERBS.items():
        print(f"  {name:<10} {what}", file=out)
    return 0 if help_wanted else 2


if __name__ == "__main__":
    sys.exit(main())
