"""Numbers in an article held against the evidence that they are bound to.

`Checker` is the way in; docs/claims.md tells the notation, the checks and the codes of the findings.
"""

from nsight_suite.claiming.article import Checker, Report
from nsight_suite.claiming.findings import CODES, Finding

__all__ = ["CODES", "Checker", "Finding", "Report"]
