"""Faults that users of ncu reports have met, one test or more per case; numbered as in the collection."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from ncu_pages import (
    BANNERS,
    LAUNCH,
    METRIC,
    PUSH_POP,
    RULE,
    SHAPE,
    START_END,
    codes,
    details,
    launch,
    raw,
    read,
    rows,
    text_of,
    values,
)

from nsight_suite.errors import BadReport
from nsight_suite.evidence import store
from nsight_suite.evidence.readers import ncu_csv, ncu_rep
from nsight_suite.evidence.readers.ncu_options import policies_of
from nsight_suite.evidence.tables import tables

DATA = Path(__file__).parent / "data"
VIEWS = Path(__file__).resolve().parent.parent / "queries" / "views"
READS, WRITES, TIME = "dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum"


@pytest.fixture
def connection() -> Iterator[store.Connection]:
    with store.empty_store() as opened:
        yield opened


def refused(connection: store.Connection, folder: Path, text: str | bytes) -> str:
    with pytest.raises(BadReport) as caught:
        read(connection, folder, text)
    assert rows(connection, "SELECT count(*) FROM counter") == [0]
    assert rows(connection, "SELECT count(*) FROM report") == [0]
    return str(caught.value)


# -- 11: what stands around the table ---------------------------------------------------------------


def test_11_banners_and_the_program_s_output_before_the_header(
    connection: store.Connection, tmp_path: Path
) -> None:
    before = BANNERS + 'done,"x"\n==PROF== Disconnected from process 457\n'
    read(connection, tmp_path, before + raw([READS], ["byte"], ["67,112,192"]))
    assert values(connection) == [67_112_192]
    assert codes(connection) == []


def test_11_output_without_a_line_end_before_the_header(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, "progress 100%" + raw([READS], ["byte"], ["1"]))
    assert values(connection) == [1]


@pytest.mark.parametrize("output", ["loss,0.5,", '"a","b",', '"run",'])
@pytest.mark.parametrize("text", [raw([READS], ["byte"], ["1"]), details(["S", READS, "byte", "1"])])
def test_11_output_like_names_of_columns_before_the_header(
    connection: store.Connection, tmp_path: Path, text: str, output: str
) -> None:
    read(connection, tmp_path, output + text)
    assert values(connection) == [1]
    assert codes(connection) == []


@pytest.mark.parametrize("output", ["epoch 3 ... ", "loss,0.5,", 'say "hi', "50%\r"])
def test_11_output_without_a_line_end_before_a_row(
    connection: store.Connection, tmp_path: Path, output: str
) -> None:
    text = raw([READS], ["byte"], ["1"], ["2"])
    read(connection, tmp_path, text.replace('"1","457"', f'{output}"1","457"'))
    assert values(connection) == [1, 2]
    assert codes(connection) == ["foreign-lines"]


def test_11_output_without_a_line_end_before_the_units(connection: store.Connection, tmp_path: Path) -> None:
    head, units, row = raw([READS], ["Kbyte"], ["1"]).splitlines(keepends=True)
    read(connection, tmp_path, f"{head}done{units}{row}")
    assert values(connection) == [1000]
    assert codes(connection) == ["foreign-lines"]


def test_11_numbers_of_the_program_are_no_launch(connection: store.Connection, tmp_path: Path) -> None:
    """As many cells as the table has columns, and the right ones are digits."""
    head, units, row = raw([READS], ["byte"], ["7"]).splitlines(keepends=True)
    output = "1,2,3,4,5,6,7,8,9,10,11,12\n"
    read(connection, tmp_path, head + units + output + row + output)
    assert values(connection) == [7]
    assert codes(connection) == ["foreign-lines"]


def test_11_a_table_of_the_program_s_own_kernels_is_no_table_of_ncu(
    connection: store.Connection, tmp_path: Path
) -> None:
    own = "ID,Kernel Name,time\n0,foo,3.2\n"
    read(connection, tmp_path, own + raw([READS], ["byte"], ["7"]))
    assert rows(connection, "SELECT workload_id, name, value FROM counter") == [(0, "saxpy", 7)]
    assert rows(connection, "SELECT rows FROM report") == [1]
    assert not ncu_csv.recognises(own)


def test_11_output_between_and_after_the_rows_is_counted_and_swallows_none(
    connection: store.Connection, tmp_path: Path
) -> None:
    page = raw([READS], ["byte"], ["1"], ["2"]).splitlines(keepends=True)
    page.insert(3, 'loss = "0.5\nepoch 2, done\n')
    read(connection, tmp_path, "".join(page) + "bye\n==PROF== Disconnected\n")
    assert values(connection) == [1, 2]
    assert codes(connection) == ["foreign-lines"]
    assert "3 lines" in rows(connection, "SELECT reason FROM finding")[0]


def test_11_no_header_at_all_tells_ncu_s_own_error(connection: store.Connection, tmp_path: Path) -> None:
    told = refused(connection, tmp_path, BANNERS + "==ERROR== The application crashed in /home/alice/app\n")
    assert "no header with 'ID' and 'Kernel Name'" in told
    assert "the program crashed" in told
    assert "alice" not in told


def test_11_errors_beside_a_table_are_told(connection: store.Connection, tmp_path: Path) -> None:
    text = raw([READS], ["byte"], ["1"]) + "==ERROR== The application returned an error code (11).\n"
    read(connection, tmp_path, text)
    assert codes(connection) == ["tool-error"]
    assert "error code (11)" in rows(connection, "SELECT reason FROM finding")[0]


def test_11_two_processes_whose_output_stands_one_behind_the_other(
    connection: store.Connection, tmp_path: Path
) -> None:
    """Each table has its own header and units, and counts its launches from 0."""
    first = raw([READS], ["byte"], ["1"], ["2"])
    second = text_of([*LAUNCH, *SHAPE, TIME], [""] * 11 + ["us"], [*launch(0, pid=900), "3"])
    read(connection, tmp_path, first + BANNERS + second)
    found = "SELECT workload_id, process, metric, value, unit FROM counter ORDER BY ALL"
    assert rows(connection, found) == [
        (0, 0, READS, 1, "byte"),
        (1, 0, READS, 2, "byte"),
        (2, 1, TIME, 3000, "ns"),
    ]


def test_11_an_error_s_own_words_stay_out_of_the_evidence(connection: store.Connection, tmp_path: Path) -> None:
    """Kinds, codes and counts are told: a path or an argument may hold a token."""
    errors = (
        "==ERROR== The application returned an error code (9): train.py --key planted-secret /home/alice/x\n"
        * 2
        + "==ERROR== planted-secret went wrong\n"
        + "==ERROR== CUDA_ERROR_LAUNCH_FAILED at planted-secret\n"
    )
    read(connection, tmp_path, raw([READS], ["byte"], ["1"]) + errors)
    ((told,),) = connection.execute("SELECT reason FROM finding WHERE code = 'tool-error'").fetchall()
    assert "an error code (9) (2 times); CUDA_ERROR_LAUNCH_FAILED; 1 error of another kind." in told
    assert "planted" not in told
    assert "alice" not in told


REPEATED = "SELECT workload_id, process, metric, value FROM counter ORDER BY ALL"


def test_11_two_runs_with_equal_ids_are_two_runs(connection: store.Connection, tmp_path: Path) -> None:
    """Process IDs repeat in containers, and every run counts its launches from 0."""
    read(connection, tmp_path, raw([TIME], ["ns"], ["10"], ["11"]) + raw([TIME], ["ns"], ["20"], ["21"]))
    assert rows(connection, REPEATED) == [
        (0, 0, TIME, 10),
        (1, 0, TIME, 11),
        (2, 1, TIME, 20),
        (3, 1, TIME, 21),
    ]
    assert codes(connection) == ["repeated-launches"]
    assert rows(connection, "SELECT reason FROM finding")[0].startswith("2 launches of ncu.csv")


def test_11_two_equal_rows_of_a_raw_page_are_two_launches(connection: store.Connection, tmp_path: Path) -> None:
    header = [*LAUNCH, *SHAPE, TIME]
    read(connection, tmp_path, text_of(header, [""] * 11 + ["ns"], [*launch(), "10"], [*launch(), "20"]))
    assert rows(connection, REPEATED) == [(0, 0, TIME, 10), (1, 0, TIME, 20)]
    assert codes(connection) == ["repeated-launches"]


def test_11_two_runs_of_which_each_has_both_pages(connection: store.Connection, tmp_path: Path) -> None:
    """Whatever follows what, as long as only one launch can be meant."""
    one, two = (raw([READS], ["byte"], [value]) for value in "12")
    long_one, long_two = (details(["Speed", "Duration", "ns", value]) for value in ("10", "20"))
    found = [(0, 0, "Duration", 10), (0, 0, READS, 1), (1, 1, "Duration", 20), (1, 1, READS, 2)]
    read(connection, tmp_path, one + long_one + two + long_two)
    assert rows(connection, REPEATED) == found
    with store.empty_store() as other:
        read(other, tmp_path, long_one + one + long_two + two)
        assert rows(other, REPEATED) == found


def test_11_a_page_that_may_be_of_either_run_is_set_apart(connection: store.Connection, tmp_path: Path) -> None:
    pages = raw([READS], ["byte"], ["1"]) + raw([READS], ["byte"], ["2"])
    read(connection, tmp_path, pages + details(["Speed", "Duration", "ns", "10"]))
    assert rows(connection, REPEATED) == [(0, 0, READS, 1), (1, 1, READS, 2), (2, 2, "Duration", 10)]
    assert codes(connection) == ["repeated-launches"]


def test_11_both_pages_of_one_report_in_one_file(connection: store.Connection, tmp_path: Path) -> None:
    long = details(["GPU Speed Of Light Throughput", "Duration", "us", "47.49"])
    read(connection, tmp_path, raw([READS], ["byte"], ["1"]) + long)
    assert rows(connection, "SELECT workload_id, metric, section, value FROM counter ORDER BY metric") == [
        (0, "Duration", "GPU Speed Of Light Throughput", 47_490),
        (0, READS, None, 1),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_11_files_saved_by_other_shells(connection: store.Connection, tmp_path: Path, encoding: str) -> None:
    read(connection, tmp_path, raw([READS], ["byte"], ["1,024"]).replace("\n", "\r\n").encode(encoding))
    assert values(connection) == [1024]
    assert codes(connection) == []


# -- 13: units row ----------------------------------------------------------------------------------


def test_11_what_another_shell_saved_tells_the_clocks_and_is_read_past_damage(
    connection: store.Connection, tmp_path: Path
) -> None:
    whole = (BANNERS + raw([READS], ["byte"], ["1,024"])).encode("utf-16")
    path = read(connection, tmp_path, whole + b"\x00\xd8\n\x00")
    assert values(connection) == [1024]
    assert ncu_csv.policies(path).clock_control == "none"


def test_13_the_row_of_units_is_used(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, raw([READS, TIME], ["Mbyte", "us"], ["67.11", "47.49"]))
    assert rows(connection, "SELECT metric, value, unit FROM counter ORDER BY metric") == [
        (READS, 67_110_000, "byte"),
        (TIME, 47_490, "ns"),
    ]
    assert rows(connection, "SELECT count(DISTINCT workload_id) FROM counter") == [1]


def test_13_without_units_the_first_kernel_stays_and_values_are_unknown(
    connection: store.Connection, tmp_path: Path
) -> None:
    header, row = [*LAUNCH, *SHAPE, READS], [*launch(0, "copy_block_inst"), "67.11"]
    read(connection, tmp_path, text_of(header, row))
    assert rows(connection, "SELECT name, value, original FROM counter") == [("copy_block_inst", None, "67.11")]
    assert "no row of units" in rows(connection, "SELECT reason FROM counter")[0]
    assert codes(connection) == ["no-units"]


# -- 14: layouts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [12, 15, 17, 20, 23])
def test_14_details_pages_of_every_width(connection: store.Connection, tmp_path: Path, columns: int) -> None:
    """12 until 2021 (with a time), 15 from 2022, 17 with ranges, 20 with rules, 23 with bodies of sections."""
    cells = {
        **dict(zip([*LAUNCH, *SHAPE], launch(3), strict=True)),
        "Kernel Time": "2021-Nov-08 19:56:53",
        PUSH_POP: "",
        START_END: "",
        **dict(zip(METRIC, ["Command line profiler metrics", READS, "Kbyte", "9.47"], strict=True)),
        "Body Item Label": "",
    }
    ranges = [PUSH_POP, START_END]
    header = {
        12: [*LAUNCH[:5], "Kernel Time", *LAUNCH[5:], *METRIC],
        15: [*LAUNCH, *SHAPE, *METRIC],
        17: [*LAUNCH[:4], *ranges, *LAUNCH[4:], *SHAPE, *METRIC],
        20: [*LAUNCH, *SHAPE, *METRIC, *RULE],
        23: [*LAUNCH[:4], *ranges, *LAUNCH[4:], *SHAPE, METRIC[0], "Body Item Label", *METRIC[1:], *RULE],
    }[columns]
    assert len(header) == columns
    row = text_of([cells[name] for name in header if name not in RULE]).rstrip("\n")
    read(connection, tmp_path, text_of(header) + row + (",\n" if columns > 17 else "\n"))
    found = "SELECT workload_id, process, context, stream, name, metric, section, value, unit FROM counter"
    assert rows(connection, found) == [(3, 0, 1, 7, "saxpy", READS, None, 9470, "byte")]
    assert codes(connection) == []


def test_14_raw_and_details_pages_say_the_same(connection: store.Connection, tmp_path: Path) -> None:
    wide = raw([READS, TIME], ["byte", "ns"], ["67,112,192", "47,488"], ["3,328", "2,144"])
    read(connection, tmp_path, wide, name="wide.csv")
    alike = "SELECT * EXCLUDE (pass, section) FROM counter ORDER BY ALL"
    expected = rows(connection, alike)
    connection.execute("DELETE FROM counter")
    long = text_of(
        [*LAUNCH, *SHAPE, *METRIC],
        *(
            [*launch(number), "Command line profiler metrics", metric, unit, value]
            for number, metric, unit, value in (
                (0, READS, "byte", "67,112,192"),
                (0, TIME, "ns", "47,488"),
                (1, READS, "byte", "3,328"),
                (1, TIME, "ns", "2,144"),
            )
        ),
    )
    read(connection, tmp_path, long, name="long.csv")
    assert rows(connection, alike) == expected


def test_14_an_unknown_layout_names_the_columns_seen(connection: store.Connection, tmp_path: Path) -> None:
    told = refused(
        connection, tmp_path, text_of(["ID", "Name of it", "Metric Name", "Value"], ["0", "k", "m", "1"])
    )
    assert "its columns are ID, Name of it, Metric Name, Value" in told


def test_14_a_page_that_pandas_has_saved_again(connection: store.Connection, tmp_path: Path) -> None:
    """The row of units has no number for ID, so all of that column became floats; strings lost their quotes."""
    head = ",".join(["", *LAUNCH, *SHAPE, READS])
    row = '1,2.0,457.0,python3.12,gold,saxpy,1.0,7.0,"(256, 1, 1)","(65536, 1, 1)",0.0,9.0,"1,024"'
    read(connection, tmp_path, f"{head}\n0{',' * 12}Kbyte\n{row}\n")
    found = "SELECT workload_id, process, device, context, stream, grid, value FROM counter"
    assert rows(connection, found) == [(2, 0, 0, 1, 7, "65536,1,1", 1_024_000)]
    assert codes(connection) == []


def test_14_the_launch_is_told_by_its_metrics_where_columns_lack(
    connection: store.Connection, tmp_path: Path
) -> None:
    """Before 2022 the grid stood in no column."""
    metrics = [f"launch__{what}_dim_{axis}" for what in ("grid", "block") for axis in "xyz"]
    header = [*LAUNCH, *metrics, "launch__device_id"]
    units = [""] * 7 + [""] * 7
    read(
        connection, tmp_path, text_of(header, units, [*launch()[:7], "65,536", "1", "1", "256", "1", "1", "2"])
    )
    found = "SELECT DISTINCT grid, block, device FROM counter"
    assert rows(connection, found) == [("65536,1,1", "256,1,1", 2)]


# -- 15, 16, 17: units ------------------------------------------------------------------------------


def test_15_units_that_change_from_row_to_row(connection: store.Connection, tmp_path: Path) -> None:
    section = "Command line profiler metrics"
    text = text_of(
        [*LAUNCH, *SHAPE, *METRIC],
        [*launch(0), section, READS, "Kbyte", "9.47"],
        [*launch(0), section, WRITES, "Mbyte", "40.02"],
        [*launch(1), section, WRITES, "byte", "0"],
        [*launch(2), section, READS, "Gbyte", "1.5"],
    )
    read(connection, tmp_path, text)
    found = "SELECT value, original, original_unit, rounded FROM counter ORDER BY workload_id, metric"
    assert rows(connection, found) == [
        (9470, "9.47", "Kbyte", True),
        (40_020_000, "40.02", "Mbyte", True),
        (0, "0", "byte", False),
        (1_500_000_000, "1.5", "Gbyte", True),
    ]


def test_16_live_and_imported_pages_agree(connection: store.Connection, tmp_path: Path) -> None:
    pages = {"live": ("byte", "67,112,192"), "imported": ("Mbyte", "67.11"), "base": ("byte", "67112192")}
    for name, (unit, text) in pages.items():
        read(connection, tmp_path, raw([READS], [unit], [text]), name=f"{name}.csv")
        connection.execute("UPDATE counter SET pass = ? WHERE pass = 'ncu'", [name])
    found = {row[0]: row[1:] for row in rows(connection, "SELECT pass, value, unit, rounded FROM counter")}
    assert found["live"] == found["base"] == (67_112_192, "byte", False)
    assert found["imported"] == (67_110_000, "byte", True)


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        *(("ns", "1000"), ("us", "1"), ("nsecond", "1000"), ("usecond", "1")),
        *(("msecond", "0.001"), ("second", "0.000001"), ("second", "1e-6")),
    ],
)
def test_17_every_spelling_of_time(connection: store.Connection, tmp_path: Path, unit: str, text: str) -> None:
    read(connection, tmp_path, raw([TIME], [unit], [text]))
    assert rows(connection, "SELECT value, unit FROM counter") == [(1000, "ns")]


def test_17_an_unknown_unit_gives_no_value_and_is_told_once(
    connection: store.Connection, tmp_path: Path
) -> None:
    read(connection, tmp_path, raw([TIME, "a__b.sum"], ["furlong", "furlong"], ["3", "4"], ["5", "0"]))
    assert values(connection) == [None] * 4
    assert set(rows(connection, "SELECT reason FROM counter")) == {"the unit 'furlong' is not known"}
    assert rows(connection, "SELECT code, subject FROM finding") == [("unknown-unit", "furlong")]


# -- 19: number formats, decided over a file --------------------------------------------------------


def test_19_thousands_in_quotes(connection: store.Connection, tmp_path: Path) -> None:
    read(
        connection,
        tmp_path,
        raw([READS, "dram__bytes_read.avg"], ["byte", "byte"], ["67,112,192", "1,398,170.67"]),
    )
    found = "SELECT value, grid FROM counter ORDER BY metric DESC"
    assert rows(connection, found) == [(67_112_192, "65536,1,1"), (1_398_170.67, "65536,1,1")]


NUMBERS = (67_112_192, 1_398_170.67, 117_344, 65.77)


@pytest.mark.parametrize(
    "printed",
    [
        ("67,112,192", "1,398,170.67", "117,344", "65.77"),
        ("67.112.192", "1.398.170,67", "117.344", "65,77"),
        ("67\u00a0112\u00a0192", "1\u00a0398\u00a0170,67", "117\u00a0344", "65,77"),
        ("67\u202f112\u202f192", "1\u202f398\u202f170,67", "117\u202f344", "65,77"),
        ("67'112'192", "1'398'170.67", "117'344", "65.77"),
        ("67112192", "1398170.67", "117344", "65.77"),
        ("67112192", "1398170,67", "117344", "65,77"),
        ("6,71,12,192", "13,98,170.67", "1,17,344", "65.77"),
    ],
    ids=["us", "de", "fr-nbsp", "fr-narrow", "ch", "c", "comma-alone", "in"],
)
def test_19_the_format_is_decided_over_the_whole_file(
    connection: store.Connection, tmp_path: Path, printed: tuple[str, ...]
) -> None:
    """117.344 is a hundred thousand in one file and a hundred in another."""
    metrics = ["a__1.sum", "a__2.sum", "a__3.sum", "a__4.pct"]
    read(connection, tmp_path, raw(metrics, ["byte", "byte", "ns", "%"], printed))
    assert values(connection) == list(NUMBERS)
    assert codes(connection) == []


def test_19_a_lone_byte_of_an_older_windows_parts_thousands(
    connection: store.Connection, tmp_path: Path
) -> None:
    text = raw([READS, "a__b.pct"], ["byte", "%"], ["67\u00a0112\u00a0192", "65,77"])
    read(connection, tmp_path, text.encode("cp1252"))
    assert sorted(values(connection)) == [65.77, 67_112_192]


def test_19_a_zero_before_the_comma_shows_that_decimals_follow(
    connection: store.Connection, tmp_path: Path
) -> None:
    read(connection, tmp_path, raw([TIME], ["us"], ["0,125"], ["12,500"], ["-0,5"], ["1,024"]))
    assert values(connection) == [125, 12_500, -500, 1024]


def test_19_blanks_around_a_number_change_neither_sign_nor_size(
    connection: store.Connection, tmp_path: Path
) -> None:
    printed = ["67 ", " 67", "\t-5", "\u00a0-5", "1e5\u00a0", "-1,234 ", "\u202f0.5\u202f"]
    read(connection, tmp_path, raw([READS], ["byte"], *([text] for text in printed)))
    assert values(connection) == [67, 67, -5, -5, 100_000, -1234, 0.5]


def test_19_what_is_scaled_need_not_be_whole(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, raw(["launch__thread_count", TIME], ["Mthread", "us"], ["67.11", "1,234.50"]))
    assert values(connection) == [1_234_500, 67_110_000]


def test_19_what_can_only_be_whole_tells_the_format(connection: store.Connection, tmp_path: Path) -> None:
    """A grid has no 65.536 blocks: the point parts thousands, in the time too."""
    read(connection, tmp_path, raw(["launch__grid_size", TIME], ["", "ns"], ["65.536", "117.344"]))
    assert sorted(values(connection)) == [65_536, 117_344]


def test_19_one_number_alone_is_read_in_ncu_s_own_format(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, raw([TIME], ["ns"], ["1,234"]))
    assert values(connection) == [1234]


def test_19_formats_that_contradict_one_another_give_no_values(
    connection: store.Connection, tmp_path: Path
) -> None:
    page = raw([READS, TIME, WRITES], ["byte"] * 3, ["1,398,170.67", "1.398.170,67", "12"])
    read(connection, tmp_path, page)
    found = "SELECT original, value, reason IS NULL FROM counter ORDER BY original"
    assert rows(connection, found) == [
        ("1,398,170.67", None, False),
        ("1.398.170,67", None, False),
        ("12", 12, True),
    ]
    assert codes(connection) == ["number-format"]


def test_19_texts_that_look_like_numbers_do_not_decide(connection: store.Connection, tmp_path: Path) -> None:
    page = raw([READS, "launch__tpc_enabled"], ["byte", ""], ["1,398,170.67", "0,1,2"])
    read(connection, tmp_path, page)
    assert rows(connection, "SELECT value, text FROM counter ORDER BY metric") == [
        (1_398_170.67, None),
        (None, "0,1,2"),
    ]


def test_19_integers_beyond_the_doubles_keep_their_digits(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, raw([READS], ["byte"], ["9,007,199,254,740,993"]))
    assert rows(connection, "SELECT value, original FROM counter") == [(2.0**53, "9,007,199,254,740,993")]


# -- 20: what is no number --------------------------------------------------------------------------


def test_20_absent_values_are_null_with_a_reason(connection: store.Connection, tmp_path: Path) -> None:
    printed = ["n/a", "(!) n/a", "nan", "-nan", "", "no data", "inf", "-nan(ind)", "1.#QNAN", "1,024"]
    read(connection, tmp_path, raw([READS], ["byte"], *([text] for text in printed)))
    assert values(connection) == [None] * 9 + [1024]
    assert rows(connection, "SELECT reason IS NULL FROM counter ORDER BY workload_id") == [False] * 9 + [True]
    assert rows(connection, "SELECT original FROM counter ORDER BY workload_id") == printed


def test_20_a_word_where_a_number_should_be(connection: store.Connection, tmp_path: Path) -> None:
    read(
        connection,
        tmp_path,
        raw([READS, "launch__func_cache_config"], ["byte", ""], ["seven", "CachePreferNone"]),
    )
    found = "SELECT value, text, reason FROM counter ORDER BY metric"
    assert rows(connection, found) == [
        (None, None, "'seven' is not a number of byte"),
        (None, "CachePreferNone", None),
    ]


# -- 21, 22: nothing was profiled -------------------------------------------------------------------


NOTHING = (
    BANNERS + 'start, "x"\n==PROF== Disconnected from process 457\n==WARNING== No kernels were profiled.\n'
    "Available Kernels:\n1. saxpy\n2. DeviceReduceKernel\n"
)


def test_21_no_kernel_matched_and_which_there_were(connection: store.Connection, tmp_path: Path) -> None:
    told = refused(connection, tmp_path, NOTHING)
    assert "no kernel matched the filters of ncu" in told
    assert "The program launched saxpy, DeviceReduceKernel." in told


def test_21_errors_are_the_reason_where_there_are_some(connection: store.Connection, tmp_path: Path) -> None:
    errors = "==ERROR== Failed to find metric bogus__m.sum\n==ERROR== Failed to profile kernel in process 457\n"
    told = refused(connection, tmp_path, BANNERS + errors + "==WARNING== No kernels were profiled.\n")
    assert "a metric or section is unknown; a kernel could not be profiled" in told
    assert "filters" not in told


def test_21_no_range_matched(connection: store.Connection, tmp_path: Path) -> None:
    told = refused(connection, tmp_path, BANNERS + "==WARNING== No ranges were profiled.\n")
    assert "no kernel matched" in told


def test_21_a_header_without_rows_is_told(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, text_of([*LAUNCH, *SHAPE, *METRIC]))
    assert codes(connection) == ["no-workloads"]
    assert rows(connection, "SELECT rows FROM report") == [0]


DENIED = """\
==PROF== Connected to process 9 (/opt/app)
==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access GPU Performance Counters.
result 42
==PROF== Disconnected from process 9
"""


@pytest.mark.parametrize("after", ["", "==WARNING== No kernels were profiled.\n", text_of([*LAUNCH, *METRIC])])
def test_22_missing_permission_is_told_whatever_else_is_printed(
    connection: store.Connection, tmp_path: Path, after: str
) -> None:
    told = refused(connection, tmp_path, DENIED + after)
    assert "ERR_NVGPUCTRPERM" in told
    assert "NVreg_RestrictProfilingToAdminUsers=0" in told


def test_21_22_94_each_failure_begins_otherwise(connection: store.Connection, tmp_path: Path) -> None:
    failures = [NOTHING, DENIED, "just text\n", "==ERROR== Failed to load report file 'x'.\n", ""]
    told = {refused(connection, tmp_path, text).partition("(")[0] for text in failures}
    assert len(told) == len(failures)


# -- 77, 79: metrics by name ------------------------------------------------------------------------


def test_77_a_requested_metric_without_a_column(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, raw([READS], ["byte"], ["1"]), (READS, WRITES))
    assert rows(connection, "SELECT code, subject FROM finding") == [("missing-metric", WRITES)]
    assert rows(connection, "SELECT metric, value FROM counter") == [(READS, 1)]


def test_79_other_roll_ups_of_a_metric_are_other_metrics(connection: store.Connection, tmp_path: Path) -> None:
    metrics = ["dram__bytes_read.avg", "dram__bytes_read.max", READS, f"{READS}.pct_of_peak_sustained_elapsed"]
    metrics.append(f"{READS}.per_second")
    values_ = ["1,398,170.67", "1,429,760", "67,112,192", "47.00", "1,413,000,000,000"]
    page = raw(metrics, ["byte", "byte", "byte", "%", "byte/s"], values_)
    read(connection, tmp_path, page, (READS,))
    assert rows(connection, "SELECT metric, value, unit FROM counter") == [(READS, 67_112_192, "byte")]
    connection.execute("DELETE FROM counter")
    read(connection, tmp_path, page)
    found = rows(connection, "SELECT metric, unit FROM counter")
    assert dict(found) == dict(zip(metrics, ["byte", "byte", "byte", "%", "byte/s"], strict=True))


# -- 81: ragged rows --------------------------------------------------------------------------------


def test_81_details_rows_lack_the_cells_of_rules_and_rules_are_no_metrics(
    connection: store.Connection, tmp_path: Path
) -> None:
    advice = 'Only 10.7 of 32 "bytes", on average, are used. See /home/alice/k.cu.'
    rule = ["MemoryWorkloadAnalysis", "", "", "", "CacheAccess", "OPT", advice, "global", "34.6"]
    metric = text_of([*launch(), "Occupancy", "Achieved Occupancy", "%", "70.66"]).rstrip("\n") + ",\n"
    read(
        connection, tmp_path, text_of([*LAUNCH, *SHAPE, *METRIC, *RULE]) + metric + text_of([*launch(), *rule])
    )
    assert rows(connection, "SELECT section, metric, value, unit FROM counter") == [
        ("Occupancy", "Achieved Occupancy", 70.66, "%")
    ]
    assert rows(connection, "SELECT * FROM advice") == [
        ("ncu", 0, "MemoryWorkloadAnalysis", "CacheAccess", "OPT", advice.replace("/home/alice/", ""), 34.6)
    ]
    assert codes(connection) == []


def test_81_rows_longer_than_the_header_are_counted(connection: store.Connection, tmp_path: Path) -> None:
    page = raw([READS], ["byte"], ["1"], ["2", "3"], ["4"])
    read(connection, tmp_path, page)
    assert values(connection) == [1, 4]
    assert rows(connection, "SELECT code, reason FROM finding")[0][0] == "ragged-rows"
    assert "1 rows of ncu.csv" in rows(connection, "SELECT reason FROM finding")[0]


@pytest.mark.parametrize("text", [raw([READS], ["byte"], ["1"]), details(["S", READS, "byte", "1"])])
def test_81_every_row_may_end_with_a_comma(connection: store.Connection, tmp_path: Path, text: str) -> None:
    head, *below = text.splitlines()
    read(connection, tmp_path, "\n".join([head, *(f"{line}," for line in below), ""]))
    assert values(connection) == [1]
    assert codes(connection) == []


def test_81_a_row_that_lost_a_cell_gives_no_shifted_value(connection: store.Connection, tmp_path: Path) -> None:
    lost = [*launch(1), READS, "byte", "4,096"]  # without its section
    text = details(["S", READS, "byte", "1"]) + text_of([*lost, ""], [*launch(2), "S", READS, "byte", "2"])
    read(connection, tmp_path, text)
    assert rows(connection, "SELECT workload_id, value FROM counter ORDER BY ALL") == [(0, 1), (2, 2)]
    assert codes(connection) == ["ragged-rows"]


# -- names ------------------------------------------------------------------------------------------


def test_83_kernel_names_with_commas_templates_and_operators(
    connection: store.Connection, tmp_path: Path
) -> None:
    name = (
        "void cub::DeviceReduceKernel<cub::policy_hub<float, unsigned int, cuda::plus<void>>::Policy1000, "
        "float *, unsigned int>(T2, T5 *)"
    )
    read(connection, tmp_path, text_of([*LAUNCH, *SHAPE, READS], [""] * 11 + ["byte"], [*launch(0, name), "1"]))
    assert rows(connection, "SELECT name FROM counter") == [name]
    connection.execute((VIEWS / "workload.sql").read_text(encoding="utf-8"))
    assert rows(connection, "SELECT name, short_name FROM workload") == [(name, "DeviceReduceKernel")]


def test_83_ncu_does_not_double_the_quotes_in_names_of_ranges(
    connection: store.Connection, tmp_path: Path
) -> None:
    """As ncu 2025.3.1 prints a range called: lib, "call": f"""
    header = [*LAUNCH[:4], PUSH_POP, START_END, *LAUNCH[4:], *SHAPE, READS]
    cell = '635  ""other:dom:lib, "call": f:Int64:-3:none:none:ASCII:lib, "call": f"" '
    launched = '"copy(float *, int)","1","7","(256, 1, 1)","(1, 1, 1)","0","9.0"'
    row = f'"0","635","p","127.0.0.1","{cell}","",{launched},"5"\n'
    read(connection, tmp_path, text_of(header, [""] * 13 + ["byte"]) + row)
    found = "SELECT name, range_name, invocation, value FROM counter"
    assert rows(connection, found) == [("copy(float *, int)", 'lib, "call": f', -3, 5)]
    assert codes(connection) == []


def test_83_a_name_may_hold_a_line_end(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, text_of([*LAUNCH, READS], [""] * 7 + ["byte"], [*launch(0, "a\nb")[:7], "1"]))
    assert rows(connection, "SELECT name, value FROM counter") == [("a\nb", 1)]
    assert codes(connection) == []


@pytest.mark.parametrize("name", ["\nk", 'k "a"\n(b)', "\n\n"])
def test_83_a_line_end_may_stand_right_behind_a_quote(
    connection: store.Connection, tmp_path: Path, name: str
) -> None:
    read(connection, tmp_path, raw([READS], ["byte"], ["1"], ["2"]).replace("saxpy", name.replace('"', '""')))
    assert rows(connection, "SELECT name, value FROM counter ORDER BY value") == [(name, 1), (name, 2)]
    assert codes(connection) == []


def test_83_one_quote_in_a_range_s_name(connection: store.Connection, tmp_path: Path) -> None:
    """ncu does not double it, and prints no message that would repeat it."""
    cell = '"457  ""<default domain>:5" pipe:none:none:none:none:none:none"" "'
    head, units, *below = text_of(
        [*LAUNCH, PUSH_POP, READS], [""] * 8 + ["byte"], *([*launch(n)[:7], "CELL", "7"] for n in (0, 1))
    ).splitlines(keepends=True)
    read(connection, tmp_path, head + units + "".join(below).replace('"CELL"', cell))
    assert rows(connection, "SELECT range_name, value FROM counter") == [('5" pipe', 7)] * 2
    assert codes(connection) == []


def test_83_texts_hold_line_ends_of_every_kind(connection: store.Connection, tmp_path: Path) -> None:
    texts = ["\r", "x\ry", "x\ny", "x\r\ny", '"\r"', "a,\r", "\n\r", "5"]
    metrics = [f"a__{number}.sum" for number in range(len(texts))]
    read(
        connection,
        tmp_path,
        raw([*metrics, READS], [""] * len(texts) + ["inst"], [*texts, "6 (x\ry: 2; z: 4)"]),
    )
    found = rows(connection, "SELECT original, instance FROM counter ORDER BY metric, instance")
    assert found[:-3] == [(text, None) for text in texts]
    assert rows(
        connection, "SELECT instance, value FROM counter WHERE metric = $$dram__bytes_read.sum$$ ORDER BY 2"
    ) == [
        ("x\ry", 2),
        ("z", 4),
        (None, 6),
    ]


def test_84_launches_of_one_kernel_stay_apart(connection: store.Connection, tmp_path: Path) -> None:
    text = text_of(
        [*LAUNCH, *SHAPE, READS],
        [""] * 11 + ["byte"],
        [*launch(2, grid="(1, 1, 1)"), "3,328"],
        [*launch(3), "67,112,192"],
        [*launch(3, pid=458), "5"],
    )
    read(connection, tmp_path, text)
    found = "SELECT workload_id, process, grid, value FROM counter ORDER BY value"
    assert rows(connection, found) == [
        (4, 1, "65536,1,1", 5),
        (2, 0, "1,1,1", 3328),
        (3, 0, "65536,1,1", 67_112_192),
    ]


def test_85_zero_is_measured(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, raw([WRITES], ["byte"], ["0"], ["0"], ["0.00"]))
    assert rows(connection, "SELECT value, reason FROM counter") == [(0, None)] * 3


def test_labels_that_clash_are_told_apart_by_their_section(
    connection: store.Connection, tmp_path: Path
) -> None:
    text = details(
        ["GPU Speed Of Light Throughput", "Memory Throughput", "%", "48.03"],
        ["Memory Workload Analysis", "Memory Throughput", "Tbyte/s", "2.33"],
    )
    read(connection, tmp_path, text)
    assert rows(connection, "SELECT section, metric, value, unit FROM counter ORDER BY section") == [
        ("GPU Speed Of Light Throughput", "Memory Throughput", 48.03, "%"),
        ("Memory Workload Analysis", "Memory Throughput", 2.33e12, "byte/s"),
    ]


def test_one_label_with_several_values_has_them_in_order(connection: store.Connection, tmp_path: Path) -> None:
    """A roofline chart prints its achieved work, percentage and peak under one label."""
    cells = (("", "0"), ("%", "0"), ("", "8"), ("", "0"))
    read(connection, tmp_path, details(*(["Roofline", "Op:hmma", unit, value] for unit, value in cells)))
    assert rows(connection, "SELECT instance, value, unit FROM counter ORDER BY instance") == [
        ("#1", 0, ""),
        ("#2", 0, "%"),
        ("#3", 8, ""),
    ]


def test_names_in_place_of_labels(connection: store.Connection, tmp_path: Path) -> None:
    """--print-metric-name name, and label-name; a metric that two sections show is one metric."""
    text = details(
        ["GPU Speed Of Light Throughput", TIME, "ns", "49,024"],
        ["Other", f"Duration ({TIME})", "ns", "49,024"],
    )
    read(connection, tmp_path, text)
    assert rows(connection, "SELECT section, metric, instance, value FROM counter") == [
        (None, TIME, None, 49_024)
    ]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("6 (1; 2; 3)", [("#1", 1), ("#2", 2), ("#3", 3), (None, 6)]),
        ("8,192 (IMAD: 4,096; MOV: 4,096)", [("IMAD", 4096), ("MOV", 4096), (None, 8192)]),
        ("7 (0x7fe4137a0000: 3; 0x7fe4137a0010: 4)", [("0x7fe4137a0000", 3), ("0x7fe4137a0010", 4), (None, 7)]),
        ("(0 (+0): 0.5; 1795 (+1795): 1.5)", [("0 (+0)", 0.5), ("1795 (+1795)", 1.5), (None, None)]),
        ("1 (0:4: 1)", [("0:4", 1), (None, 1)]),
        ("no data", [(None, None)]),
    ],
)
def test_instances_of_a_metric(
    connection: store.Connection, tmp_path: Path, cell: str, expected: list[tuple[str | None, float | None]]
) -> None:
    read(connection, tmp_path, raw(["sass__inst_executed_per_opcode"], ["inst"], [cell]))
    assert rows(connection, "SELECT instance, value FROM counter ORDER BY instance NULLS LAST") == expected
    assert rows(connection, "SELECT count(*) FROM counter WHERE value IS NULL AND reason IS NULL") == [0]


@pytest.mark.parametrize("cell", ["CachePreferNone", "NVIDIA H100 (SXM)", "copy(float *, int)", "(256, 1, 1)"])
def test_texts_with_brackets_have_no_instances(connection: store.Connection, tmp_path: Path, cell: str) -> None:
    read(connection, tmp_path, raw(["launch__kernel_name"], [""], [cell]))
    assert rows(connection, "SELECT instance, text FROM counter") == [(None, cell)]


def test_what_is_too_long_is_cut(connection: store.Connection, tmp_path: Path) -> None:
    """DuckDB takes no line of more than 2 MB and no JSON object of more than 16."""
    many = "6" * 2_100_000
    text = raw(["a__1.sum", "a__2.sum", READS], ["inst", "inst", "byte"], [f"6 (x: {many}; y: 4)", many, "7"])
    name = f'"{"k" * 17_000_000}"'
    read(connection, tmp_path, text.replace('"saxpy"', name))
    found = rows(connection, "SELECT instance, value FROM counter ORDER BY metric, instance NULLS FIRST")
    assert found == [(None, 6), ("x", None), ("y", 4), (None, None), (None, 7)]
    assert rows(connection, "SELECT DISTINCT length(name) FROM counter") == [100_000]


@pytest.mark.parametrize(
    "text",
    [
        text_of([*LAUNCH, *SHAPE, f"a{'_' * 90_000}!", READS], [*launch(), "1", "2"]),
        f"==WARNING== No kernels were profiled.\nAvailable Kernels:\n1. a{' ' * 90_000}b\n",
        f"==ERROR== {'open ' * 20_000}\n",
        text_of(
            [*LAUNCH, PUSH_POP, READS],
            [*launch()[:7], f'"d:{":a" * 20_000}:none:none:none:none:ASCII:x" ', "2"],
        ),
    ],
    ids=["column", "kernels", "error", "range"],
)
def test_no_text_takes_long(connection: store.Connection, tmp_path: Path, text: str) -> None:
    """Each took minutes by patterns that can be matched in many ways."""
    started = time.process_time()
    with suppress(BadReport):
        read(connection, tmp_path, text)
    assert time.process_time() - started < 10


# -- graphs, policies -------------------------------------------------------------------------------

EXEC = "launch__graph_exec_cuda_id"


@pytest.mark.parametrize(
    ("kernel", "metrics", "cells", "kind"),
    [
        ("graph", [EXEC], ["3"], "graph"),
        ("any name", [EXEC], ["3"], "graph"),
        ("graph", [EXEC], ["0"], "kernel"),
        ("graph", [EXEC, "launch__graph_contains_device_launch"], ["0", "0"], "kernel"),
        ("graph", ["launch__graph_contains_device_launch"], ["0"], "graph"),
        ("graph", ["launch__graph_contains_device_launch"], [""], "kernel"),
        ("graph", [READS], ["1"], "kernel"),
        ("saxpy", ["launch__graph_contains_device_launch"], ["0"], "kernel"),
    ],
)
def test_graphs_are_known_by_their_attributes(  # noqa: PLR0917
    connection: store.Connection, tmp_path: Path, kernel: str, metrics: list[str], cells: list[str], kind: str
) -> None:
    text = text_of([*LAUNCH, *SHAPE, *metrics], [""] * (11 + len(metrics)), [*launch(0, kernel), *cells])
    path = read(connection, tmp_path, text)
    assert set(rows(connection, "SELECT workload FROM counter")) == {kind}
    assert ncu_csv.policies(path).graph_profiling == ("graph" if kind == "graph" else "unknown")


def test_attributes_beyond_all_bounds_describe_no_gpu(connection: store.Connection, tmp_path: Path) -> None:
    names = ["device__attribute_display_name", "device__attribute_total_memory"]
    read(connection, tmp_path, raw(names, ["", "byte"], ["H200", "1e300"]))
    assert rows(connection, "SELECT name, memory_bytes FROM gpu") == [("H200", None)]


def test_replay_passes_are_kept(connection: store.Connection, tmp_path: Path) -> None:
    page = raw([READS, "profiler__replayer_passes"], ["byte", "pass"], ["1", "38"])
    read(connection, tmp_path, page, (READS,))
    assert rows(connection, "SELECT value, unit FROM counter WHERE metric LIKE 'profiler%'") == [(38, "pass")]


def test_policies_are_told_where_the_file_tells_them_and_unknown_where_not(tmp_path: Path) -> None:
    path = tmp_path / "ncu.csv"
    path.write_text(raw([READS], ["byte"], ["1"]), encoding="utf-8")
    assert ncu_csv.policies(path) == ("unknown", "unknown", "unknown")
    path.write_text(BANNERS + raw([READS], ["byte"], ["1"]), encoding="utf-8")
    assert ncu_csv.policies(path) == ("unknown", "none", "unknown")
    path.write_bytes(b"")
    assert ncu_csv.policies(path) == ("unknown", "unknown", "unknown")


@pytest.mark.parametrize(
    ("command_line", "policies"),
    [
        ("ncu -o x python app.py --cache-control none", ("all", "base", "node")),
        ("ncu --nvtx -f --cache-control=none -o x python app.py --cache-control all", ("none", "base", "node")),
        ("/opt/ncu --nvtx yes --metrics a,b --clock-control none ./app", ("all", "none", "node")),
        ("C:\\Program Files\\ncu.exe --graph-profiling graph app.exe --set full", ("all", "base", "graph")),
        ("ncu -k regex:saxpy -c 3 -oname --clock-control none app", ("all", "none", "node")),
        ("ncu --cache-control none --newest-option x --clock-control none app", ("none", "unknown", "unknown")),
        ("ncu --nvtx-include my step/ --cache-control none app", ("unknown", "unknown", "unknown")),
        ("ncu --cache-control none -k regex:void k python app.py", ("none", "base", "node")),
        ("ncu --cache-control sometimes app", ("unknown", "base", "node")),
        ("ncu --config-file-path mine.cfg --cache-control none app", ("unknown", "unknown", "unknown")),
        ("ncu app --config-file-path mine.cfg", ("all", "base", "node")),
        ("ncu --metrics --cache-control none app", ("unknown", "unknown", "unknown")),
        ("", ("unknown", "unknown", "unknown")),
        (None, ("unknown", "unknown", "unknown")),
    ],
)
def test_only_options_of_ncu_itself_tell_its_policies(
    command_line: str | None, policies: tuple[str, ...]
) -> None:
    assert policies_of(command_line) == policies


def test_a_report_tells_its_policies_and_its_ncu(connection: store.Connection) -> None:
    path = DATA / "ncu_graph_whole.ncu-rep"
    assert ncu_rep.policies(path) == ("none", "none", "graph")
    pytest.importorskip("ncu_report")
    ncu_rep.read(connection, path, "ncu")
    assert rows(connection, "SELECT tool_version FROM report")[0].startswith("2025.3.1")
    assert rows(connection, "SELECT name, compute_capability, multiprocessors FROM gpu") == [
        ("NVIDIA H200", "9.0", 132)
    ]


# -- 94: reports ------------------------------------------------------------------------------------


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", None)


def fake_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, *, prints: str, status: int) -> None:
    """An ncu on PATH that prints a text, whatever it is asked."""
    output = folder / "printed"
    output.write_text(prints, encoding="utf-8")
    script = folder / "bin" / "ncu"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\ncat "{output}"\nexit {status}\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("without_package")
@pytest.mark.parametrize("name", ["x.ncu-rep", "x.NCU-REP", 'it\'s a "report" é.ncu-rep'])
def test_94_a_report_is_read_by_an_ncu_on_the_path(
    connection: store.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    shutil.copy(DATA / "ncu_graph_whole.ncu-rep", path)
    fake_ncu(tmp_path, monkeypatch, prints=raw([READS], ["byte"], ["1"]) + "stray\n", status=0)
    ncu_rep.read(connection, path, "ncu")
    assert values(connection) == [1]
    assert rows(connection, "SELECT file, format, rows, complete FROM report") == [(name, "ncu-rep", 1, True)]
    assert rows(connection, "SELECT subject FROM finding") == [name]


@pytest.mark.usefixtures("without_package")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("==ERROR== Could not open report file 'x'.\n", "could not open the report"),
        ("==ERROR== Failed to load report file 'x'.\n==ERROR== An unknown error occurred.\n", "could not load"),
        ("==ERROR== Failed to load report file 'x'.\n==ERROR== File is too small.\n", "empty or cut off"),
        (
            "==ERROR== An unexpected incompatibility with this Nsight Compute version occurred.\n",
            "another version of ncu",
        ),
        ("==ERROR== Report was created in a newer version.\n", "too old for the report"),
        ("something else\n", "no header"),
    ],
)
def test_94_what_ncu_says_of_a_report_that_it_cannot_read(
    connection: store.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    fake_ncu(tmp_path, monkeypatch, prints=said, status=1)
    with pytest.raises(BadReport, match=told):
        ncu_rep.read(connection, DATA / "ncu_graph_whole.ncu-rep", "ncu")
    assert rows(connection, "SELECT count(*) FROM report") == [0]


@pytest.mark.usefixtures("without_package")
def test_94_with_neither_package_nor_program_both_are_named(
    connection: store.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadReport) as caught:
        ncu_rep.read(connection, DATA / "ncu_graph_whole.ncu-rep", "ncu")
    assert "ncu-report" in str(caught.value)
    assert "an ncu on PATH" in str(caught.value)


def test_94_a_compressed_report(connection: store.Connection, tmp_path: Path) -> None:
    pytest.importorskip("ncu_report")
    pyarrow = pytest.importorskip("pyarrow")
    whole = pyarrow.compress((DATA / "ncu_graph_whole.ncu-rep").read_bytes(), codec="zstd", asbytes=True)
    for name in ("x.ncu-repz", "X.NCU-REPZ", "misnamed.ncu-rep"):
        path = tmp_path / name
        path.write_bytes(whole)
        ncu_rep.read(connection, path, name)
        assert ncu_rep.policies(path) == ("none", "none", "graph")
    assert set(rows(connection, "SELECT rows FROM report")) == {4}
    cut = tmp_path / "cut.ncu-repz"
    cut.write_bytes(whole[:-2000])
    with pytest.raises(BadReport, match=r"cut\.ncu-repz is cut off"):
        ncu_rep.read(connection, cut, "cut")


def test_94_a_report_under_another_suffix(connection: store.Connection, tmp_path: Path) -> None:
    pytest.importorskip("ncu_report")
    path = tmp_path / "plain.ncu-repz"
    shutil.copy(DATA / "ncu_graph_whole.ncu-rep", path)
    ncu_rep.read(connection, path, "ncu")
    assert rows(connection, "SELECT file, rows FROM report") == [("plain.ncu-repz", 4)]


# -- 96: pages that are no tables of launches -------------------------------------------------------

SUMMARY = text_of(
    [*LAUNCH[1:5], *SHAPE, "Invocations", *METRIC[:3], "Minimum", "Maximum", "Average"],
    ["1", "p", "gold", "k", "(1, 1, 1)", "(1, 1, 1)", "0", "9.0", "2", "S", READS, "byte", "1", "3", "2"],
)
PER_NVTX = text_of(
    ["Domain", "Range:PL_Type", "Kernel Name", "Invocations", *METRIC[:3], "Minimum", "Maximum", "Average"],
    ["d", "r", "k", "2", "S", READS, "byte", "1", "3", "2"],
)
RAW_SUMMARY = text_of(
    ["Process ID", *LAUNCH[2:5], *SHAPE, "Invocations", READS],
    [""] * 9 + ["byte"],
    ["1", "p", "gold", "k", "(1, 1, 1)", "(1, 1, 1)", "0", "9.0", "2", "5"],
)
SESSION = """\
Launch Settings
"Launch Attribute","Value"
"Profiler Command Line","/opt/ncu --set full ./p --password=dummy "

Session Info
"Session Attribute","Value"
"Host Name","gold"
"""
SOURCE = """\
"Kernel Name","k(float *)",
"Address","Source","# Samples"
"0x7fe4137a0000","      LDC R1, c[0x0]","45"
"""
PLAIN = """\
  k (1, 1, 1)x(1, 1, 1)
    Metric Name             Metric Unit Metric Value
    Duration                  us        48.86
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SUMMARY, "is a summary page"),
        (BANNERS + PER_NVTX, "is a summary page"),
        (RAW_SUMMARY, "is a summary page"),
        (SESSION, "is a session page"),
        (SOURCE, "is a source page"),
        (PLAIN, "printed as text, without --csv"),
    ],
)
def test_96_other_pages_are_refused_by_name(
    connection: store.Connection, tmp_path: Path, text: str, told: str
) -> None:
    message = refused(connection, tmp_path, text)
    assert told in message
    assert "dummy" not in message
    assert "gold" not in message
    if text != PLAIN:
        assert ncu_csv.recognises(text)


def test_96_a_summary_behind_a_table_makes_no_launches(connection: store.Connection, tmp_path: Path) -> None:
    read(connection, tmp_path, raw([READS], ["byte"], ["7"]) + SUMMARY)
    assert values(connection) == [7]
    assert codes(connection) == ["summary-page"]


# -- 97: privacy ------------------------------------------------------------------------------------


def test_97_host_and_program_never_enter(connection: store.Connection, tmp_path: Path) -> None:
    text = BANNERS + "==ERROR== cannot open /home/alice/x\n" + raw([READS], ["byte"], ["1"])
    path = read(connection, tmp_path, text)
    every = "".join(str(rows(connection, f'SELECT * FROM "{name}"')) for name in tables())
    assert not any(secret in every for secret in ("gold", "python3.12", "alice", "457"))
    assert ncu_csv.identity(path) == ({"gold"}, {"python3.12"}, set())


def test_97_what_is_compared_of_a_report() -> None:
    """The recorded report had its names crossed out before it was published."""
    told = ncu_rep.identity(DATA / "ncu_graph_whole.ncu-rep")
    assert told.gpus == {"NVIDIA H200"}
    assert told.programs == {"x" * 19}
    page = ncu_csv.identity(DATA / "ncu_graph_whole_raw.csv")
    assert page.gpus == told.gpus
    assert page.programs == {"python3.12"}
    assert page.hosts == set()  # 127.0.0.1 tells nothing


def test_97_a_column_of_a_newer_ncu_is_told_by_name_and_not_read(
    connection: store.Connection, tmp_path: Path
) -> None:
    text = text_of([*LAUNCH, "User Name", READS], [""] * 8 + ["byte"], [*launch()[:7], "alice", "1"])
    read(connection, tmp_path, text)
    assert rows(connection, "SELECT metric, value FROM counter") == [(READS, 1)]
    assert rows(connection, "SELECT code, subject FROM finding") == [("unknown-column", "User Name")]


def test_97_of_a_great_many_columns_and_units_some_are_told(
    connection: store.Connection, tmp_path: Path
) -> None:
    metrics = [f"a__{number}.sum" for number in range(1000)]
    columns = [f"col {number}" for number in range(1000)]
    units = [f"odd{number}" for number in range(1000)]
    text = text_of(
        [*LAUNCH, *columns, *metrics], [""] * 1007 + units, [*launch()[:7], *["x"] * 1000, *["1"] * 1000]
    )
    read(connection, tmp_path, text)
    assert rows(connection, "SELECT code, count(*) FROM finding GROUP BY code ORDER BY code") == [
        ("unknown-column", 21),
        ("unknown-unit", 21),
    ]
    told = rows(connection, "SELECT reason FROM finding WHERE subject = 'ncu.csv' ORDER BY code")
    assert ["980 more" in reason for reason in told] == [True, True]
    assert rows(connection, "SELECT count(*), count(value), count(reason) FROM counter") == [(1000, 0, 1000)]


def test_97_a_column_s_name_is_told_only_when_it_looks_like_one(
    connection: store.Connection, tmp_path: Path
) -> None:
    secret = "planted0123456789012345678901234567890"
    names = [f"/home/planted/{name}" for name in ("Host Log", "x=1")] + [secret]
    read(connection, tmp_path, text_of([*LAUNCH, *names, READS], [*launch()[:7], "", "", "", "1"]))
    found = rows(connection, "SELECT subject FROM finding WHERE code = 'unknown-column' ORDER BY 1")
    assert found == ["(a name of another shape)", "Host Log"]
    assert not any("planted" in reason for reason in rows(connection, "SELECT reason FROM finding"))


@pytest.mark.parametrize(
    ("text", "is_ncu"),
    [
        (raw([READS], ["byte"], ["1"]), True),
        (BANNERS, True),
        (NOTHING, True),
        ("", False),
        ("a,b\n1,2\n", False),
        ("Annotation,Metric,AvgValue\n", False),
    ],
)
def test_a_page_is_recognised_by_its_beginning(text: str, is_ncu: bool) -> None:
    assert ncu_csv.recognises(text) == is_ncu


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of a process is read from Linux's /proc"
)
def test_a_thousand_launches_take_bounded_memory(tmp_path: Path) -> None:
    """Cells go through a file; the process keeps no list of them. Another process reads, to be measured.

    Its peak is asked of /proc: `ru_maxrss` survives exec, so a child inherits the peak of pytest itself.
    """
    metrics = [f"unit{number}__a_metric.sum" for number in range(300)]
    cells = [f"{number * 7919 % 10**7:,}" for number in range(300)]
    path = tmp_path / "big.csv"
    path.write_text(raw(metrics, ["byte"] * 300, *([cells] * 1000)), encoding="utf-8")
    program = (
        "import re, sys; from pathlib import Path\n"
        "from nsight_suite.evidence import store; from nsight_suite.evidence.readers import ncu_csv\n"
        "connection = store.empty_store(Path(sys.argv[2]))\n"
        "connection.execute('SET enable_progress_bar = false')\n"
        "ncu_csv.read(connection, Path(sys.argv[1]), 'ncu')\n"
        "print(connection.execute('SELECT count(*), sum(value) FROM counter').fetchall()[0])\n"
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', Path('/proc/self/status').read_text())[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(tmp_path)], capture_output=True, text=True, check=True
    )
    counted, kilobytes = done.stdout.splitlines()
    assert counted == str((300_000, 1000.0 * sum(number * 7919 % 10**7 for number in range(300))))
    assert int(kilobytes) < 450_000
