"""Tables of nsight-python: averages, single values, ratios to a baseline, and what must stay outside."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from ncu_pages import codes, rows, text_of

from nsight_suite.errors import BadReport
from nsight_suite.evidence import store
from nsight_suite.evidence.readers import nsight_python_csv
from nsight_suite.evidence.tables import tables
from nsight_suite.ingesting.recognising import recognise

STATISTICS = ("AvgValue", "StdDev", "MinValue", "MaxValue", "NumRuns", "CI95_Lower", "CI95_Upper")
HEADER = (
    *(
        "Annotation",
        "Metric",
        "n",
        "dtype",
        *STATISTICS,
        "RelativeStdDevPct",
        "StableMeasurement",
        "Kernel",
        "GPU",
    ),
    *("Host", "ComputeClock", "MemoryClock", "Unit", "Collected", "Normalized", "Geomean"),
)
ROW = {
    **{"Annotation": "matmul", "Metric": "gpu__time_duration.sum", "n": "1024", "dtype": "float16"},
    **{"AvgValue": "20500.5", "StdDev": "12.25", "MinValue": "20480", "MaxValue": "20512", "NumRuns": "3"},
    **{"CI95_Lower": "20486.6", "CI95_Upper": "20514.4", "RelativeStdDevPct": "0.05975", "Unit": "ns"},
    **{
        "StableMeasurement": "True",
        "Kernel": "void gemm<float, 4>(T1 *)",
        "GPU": "NVIDIA H200",
        "Host": "gold",
    },
    **{"ComputeClock": "1980000", "MemoryClock": "3201000", "Collected": "alice", "Normalized": "False"},
    **{"Geomean": "20500.5"},
}


@pytest.fixture
def connection() -> Iterator[store.Connection]:
    with store.empty_store() as opened:
        yield opened


def read(connection: store.Connection, folder: Path, *lines: Sequence[str]) -> None:
    path = folder / "processed_data-f-0.csv"
    path.write_text(text_of(*lines), encoding="utf-8")
    nsight_python_csv.read(connection, path, "sweep")


def row(**changes: str) -> list[str]:
    return [{**ROW, **changes}[name] for name in HEADER]


def test_averages_become_measurements(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, HEADER, row(), row(n="2048", AvgValue="41", Unit="us"))
    found = "SELECT row, statistic, value, unit, runs FROM measurement WHERE statistic IN ('mean', 'minimum')"
    assert rows(connection, f"{found} ORDER BY ALL") == [
        (0, "mean", 20500.5, "ns", 3),
        (0, "minimum", 20480, "ns", 3),
        (1, "mean", 41_000, "ns", 3),
        (1, "minimum", 20_480_000, "ns", 3),
    ]
    assert rows(connection, "SELECT DISTINCT annotation, kernel, metric FROM measurement") == [
        ("matmul", "void gemm<float, 4>(T1 *)", "gpu__time_duration.sum")
    ]
    configuration = rows(connection, "SELECT DISTINCT configuration FROM measurement ORDER BY ALL")
    assert json.loads(configuration[0]) == {"n": "1024", "dtype": "float16"}
    assert rows(connection, "SELECT format, rows, complete FROM report") == [("nsight-python-csv", 2, True)]
    assert rows(connection, "SELECT name FROM gpu") == ["NVIDIA H200"]


def test_one_run_has_no_deviation(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, HEADER, row(StdDev="", NumRuns="1", RelativeStdDevPct="nan"))
    missing = "SELECT statistic, reason IS NOT NULL FROM measurement WHERE value IS NULL ORDER BY ALL"
    assert rows(connection, missing) == [("relative standard deviation", True), ("standard deviation", True)]


def test_a_ratio_to_a_baseline_has_no_unit(connection: store.Connection, tmp_path: Path) -> None:
    header = [*HEADER, "NormalizationValue"]
    read(connection, tmp_path, header, [*row(AvgValue="2.0", Normalized="baseline"), "10.0"])
    found = "SELECT statistic, value, unit FROM measurement WHERE statistic LIKE 'mean%' ORDER BY ALL"
    assert rows(connection, found) == [
        ("mean of the baseline", 10, "ns"),
        ("mean, as a ratio to baseline", 2, ""),
    ]


def test_a_derived_metric_without_a_unit_is_a_number_of_unknown_unit(
    connection: store.Connection, tmp_path: Path
) -> None:
    read(connection, tmp_path, HEADER, row(Unit=""), row(Unit="TFLOPS"))
    found = "SELECT row, value, unit, original FROM measurement WHERE statistic = 'mean' ORDER BY row"
    assert rows(connection, found) == [(0, 20500.5, None, "20500.5"), (1, None, None, "20500.5")]
    assert rows(connection, "SELECT code, subject FROM finding") == [("unknown-unit", "TFLOPS")]


def test_the_values_of_single_runs(connection: store.Connection, tmp_path: Path) -> None:
    header = [
        "Annotation",
        "Value",
        "Metric",
        "Kernel",
        "GPU",
        "Host",
        "ComputeClock",
        "MemoryClock",
        "Unit",
        "n",
    ]
    line = ["matmul", "2048", "dram__bytes.sum", "k", "NVIDIA H200", "gold", "1", "2", "Kbyte", "64"]
    read(connection, tmp_path, header, line, line)
    found = "SELECT row, statistic, configuration, value, unit, runs FROM measurement ORDER BY row"
    assert rows(connection, found) == [
        (0, "value", '{"n": "64"}', 2_048_000, "byte", None),
        (1, "value", '{"n": "64"}', 2_048_000, "byte", None),
    ]


def test_machine_and_what_users_collected_stay_outside(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, HEADER, row(dtype="/home/alice/model"))
    every = "".join(str(rows(connection, f'SELECT * FROM "{name}"')) for name in tables())
    assert "gold" not in every
    assert "alice" not in every
    assert "model" in every


def test_numbers_beyond_all_bounds_are_told(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, HEADER, row(AvgValue="1e999", NumRuns="9" * 5000))
    found = "SELECT value, runs, reason FROM measurement WHERE statistic = 'mean'"
    assert rows(connection, found) == [(None, None, "'1e999' is too large")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_table_that_was_saved_otherwise(connection: store.Connection, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "sweep.csv"
    text = io.StringIO()
    csv.writer(text).writerows([HEADER, [], row(Kernel="k" * 200_000), []])
    path.write_text(text.getvalue(), encoding=encoding)
    nsight_python_csv.read(connection, path, "sweep")
    assert rows(connection, "SELECT DISTINCT length(kernel) FROM measurement") == [100_000]
    assert codes(connection) == []
    path.write_text("x" * 200_000, encoding=encoding)
    with pytest.raises(BadReport, match="text without a table"):
        recognise(path)


def test_rows_that_were_cut_are_told(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, HEADER, row(), row()[:7])
    assert rows(connection, "SELECT rows, complete FROM report") == [(1, False)]
    assert codes(connection) == ["ragged-rows"]


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "Annotation,Metric\n"])
def test_other_tables_are_refused(connection: store.Connection, tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadReport, match=r"other\.csv"):
        nsight_python_csv.read(connection, path, "sweep")


@pytest.mark.parametrize(
    ("header", "known"),
    [
        (HEADER, True),
        (("Annotation", "Value", "Metric", "Kernel"), True),
        (("ID", "Kernel Name"), False),
        ((), False),
    ],
)
def test_a_table_is_recognised_by_its_columns(header: Sequence[str], known: bool) -> None:
    assert nsight_python_csv.recognises(list(header)) == known
