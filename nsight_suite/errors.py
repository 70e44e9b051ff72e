"""The one family of errors that a user can meet."""

from __future__ import annotations


class SuiteError(Exception):
    """Something the user can mend. Says what happened, to which file or case, and the way out."""

    def __init__(self, what: str, way_out: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.way_out = way_out

    def __str__(self) -> str:
        return f"{self.what}\n  {self.way_out}" if self.way_out else self.what


def first_line(error: BaseException) -> str:
    """What a library's error says first; its further lines are left out of our own messages."""
    return str(error).strip().splitlines()[0]


class UsageError(SuiteError):
    """The call itself is off: an unknown name, a missing file, options that exclude each other."""


class CannotMeasure(SuiteError):
    """This machine cannot make the measurement that was asked for."""


class CannotAnswer(SuiteError):
    """The evidence at hand does not hold the answer."""


class BadReport(SuiteError):
    """A report is missing, truncated, foreign or of a shape that is not known."""


class ForbiddenInference(SuiteError):
    """The evidence must not be used to support this claim. `code` names the rule."""

    def __init__(self, code: str, what: str, way_out: str = "") -> None:
        super().__init__(what, way_out)
        self.code = code
