"""Long names in tables keep what tells kernels apart: the function's own name."""

from __future__ import annotations

import pytest

from nsight_suite.querying import formats
from nsight_suite.querying.asking import Result
from nsight_suite.querying.shortening import shortened

REDUCE = (
    "void cub::CUB_300102_SM_750_800_860_890_900_1000_1200::detail::reduce::DeviceReduceSingleTileKernel"
    "<cub::CUB_300102_SM_750::policy_hub<float, unsigned int>, float *>(float *, unsigned int)"
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("row_max", "row_max"),
        (REDUCE, "void cub::…::reduce::DeviceReduceSingleTileKernel<…>(…)"),
        (
            "void at::native::elementwise<4, at::native::FillFunctor<float>, std::array<char*, 1>>(int, char*)",
            "void at::native::elementwise<4, at::native::Fil…har*, 1>>(…)",
        ),
        (
            "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*, float const*, int)",
            "void at::…::(anonymous namespace)::cunn_SoftMaxForward<…>(…)",
        ),
        ("_ZN3cub43CUB_300102_SM_750_800_860_890_900_1000_12006detail6reduce6KernelE", None),
        ("bool ns::operator<<int>(ns::stream<int, ns::traits>, ns::something_long<int, float, double>)", None),
        ("k<" * 60, None),
        ("a::" * 60 + "k", "a::…::" + "a::" * 17 + "k"),
        ("a::" * 100_000 + "k<int>", None),  # in no time
    ],
)
def test_names_are_cut_where_they_tell_least(name: str, short: str | None) -> None:
    found = shortened(name, 60)
    assert len(found) <= 60
    if short:
        assert found == short
    else:
        assert found.startswith(name[:3])
        assert found.endswith(name[-1:])


def test_prose_is_cut_at_its_end() -> None:
    assert shortened("The report lacks (some) columns that are needed.", 20) == "The report lacks (s…"


def test_only_tables_are_cut() -> None:
    result = Result(("kernel",), ("VARCHAR",), ((REDUCE,),))
    assert "::reduce::DeviceReduceSingleTileKernel<" in formats.as_text(result, "table")
    assert REDUCE in formats.as_text(result, "csv")
    assert REDUCE in formats.as_text(result, "json")
    assert REDUCE.replace("<", "\\<") in formats.as_text(result, "md")
