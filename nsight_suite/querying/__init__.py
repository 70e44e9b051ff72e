"""Asking the evidence: named queries and SQL text, over an open store, read only.

A named query is one file, `queries/EXPERIMENT/NAME.sql` or `queries/common/NAME.sql`; its header is its
documentation.
"""

from nsight_suite.querying.asking import Result, open_evidence, run_named, run_sql
from nsight_suite.querying.catalogue import Query, find_queries, find_query, query_text

__all__ = [
    "Query",
    "Result",
    "find_queries",
    "find_query",
    "open_evidence",
    "query_text",
    "run_named",
    "run_sql",
]
