"""Checking a run or bundle that comes from anybody: what holds, what is missing on purpose, what does not.

One module per check. Wherever a check works something out again, it does so another way than the code that made
it: raw records and statistics in plain Python against SQL, rebuilt tables against recorded ones.
"""

from nsight_suite.verifying.checks import Check, Failure, Subject, Verification
from nsight_suite.verifying.whole import CHECKS, subject_of, verify_run

__all__ = ["CHECKS", "Check", "Failure", "Subject", "Verification", "subject_of", "verify_run"]
