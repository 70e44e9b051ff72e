"""Asking the evidence: named queries and SQL text, over an open store, read only.

A named query is one file, `queries/EXPERIMENT/NAME.sql` or `queries/common/NAME.sql`; its header is its
documentation.
"""

from nsight_suite.querying.asking import (
    Answer,
    Result,
    ask_named,
    ask_sql,
    open_evidence,
    run_named,
    run_sql,
)
from nsight_suite.querying.catalogue import Query, find_queries, find_query, query_text
from nsight_suite.querying.copying import copy_named, copy_sql

__all__ = [
    "Answer",
    "Query",
    "Result",
    "ask_named",
    "ask_sql",
    "copy_named",
    "copy_sql",
    "find_queries",
    "find_query",
    "open_evidence",
    "query_text",
    "run_named",
    "run_sql",
]
