"""What can be found in an article. The codes are stable: gates and annotations rely on them."""

from __future__ import annotations

from dataclasses import dataclass

from nsight_suite.claiming.fixing import Fix
from nsight_suite.reconciliation.inference import RULES

VALUE = "value"
ROUNDING = "rounding"
UNIT = "unit"
COMPARISON = "comparison"
DIRECTION = "direction"
TEXT = "text"
OTHER_CASE = "other-case"
IN_DOUBT = "run-in-doubt"
MALFORMED = "binding-malformed"
UNKNOWN = "binding-unknown"
AMBIGUOUS = "binding-ambiguous"
NO_NUMBER = "binding-without-number"
NO_EVIDENCE = "no-evidence"
UNBOUND = "unbound"
NO_REASON = "unbound-without-reason"

# What each code says; those of forbidden inferences bear the names of their rules.
CODES = {
    VALUE: "The number is not what the evidence holds.",
    ROUNDING: "The number is near, but not what its value rounds to.",
    UNIT: "The unit is missing or does not fit what was measured.",
    COMPARISON: "A word of comparison is not true of the value.",
    DIRECTION: "Faster, slower, more or less points the wrong way.",
    TEXT: "The words are not what the evidence holds.",
    OTHER_CASE: "The words name another case than the number is bound to.",
    IN_DOUBT: "The run is not complete, or its reconciliation rejects it.",
    MALFORMED: "The binding cannot be read.",
    UNKNOWN: "The binding names a run, query, column, value or operation that does not exist.",
    AMBIGUOUS: "The binding leaves open which value, or the text which number.",
    NO_NUMBER: "The binding has no number to bind.",
    NO_EVIDENCE: "The evidence does not hold the value, so the number cannot be checked.",
    UNBOUND: "A number is bound to nothing.",
    NO_REASON: "A number is said to be unbound without a reason.",
    **{code: rule.sentence for code, rule in RULES.items()},
}
# Nothing is wrong with these; nothing speaks for them either.
_OPEN = (NO_EVIDENCE, UNBOUND, NO_REASON)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, at `line` and `column` of the article, from 1, in code points.

    `length` code points are concerned, `text` holds them. `way_out` may be empty; `fix` is what to
    write instead, where that is clear.
    """

    code: str
    line: int
    column: int
    length: int
    text: str
    message: str
    way_out: str = ""
    fix: Fix | None = None

    @property
    def level(self) -> str:
        """error, or warning for what could not be checked."""
        return "warning" if self.code in _OPEN else "error"
