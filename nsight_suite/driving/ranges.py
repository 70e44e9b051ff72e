"""NVTX ranges in the suite's own domain: what joins a profiler's records to a case."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import nvtx

from nsight_suite.protocol import DOMAIN


def setup() -> AbstractContextManager[Any]:
    """The range around all that is not measured: warm-ups, graph capture, validation."""
    range_: AbstractContextManager[Any] = nvtx.annotate("setup", domain=DOMAIN)
    return range_


def invocations(case_id: str, count: int) -> list[AbstractContextManager[Any]]:
    """One range per invocation of a case, with its ordinal as payload, made ahead so that entering is cheap."""
    return [nvtx.annotate(case_id, domain=DOMAIN, payload=ordinal) for ordinal in range(count)]
