"""Scanning: every private thing that was planted is found and located, and none of them is ever repeated."""

from __future__ import annotations

import gzip
import json
import signal
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from real_run import SECRETS, make_real_run
from tiny_export import Kernel, Range, make_export

from nsight_suite.errors import UsageError
from nsight_suite.evidence.cells import sqlite_cells
from nsight_suite.runfolder import RunFolder
from nsight_suite.scanning import Kind, Leak, scan
from nsight_suite.scanning.signs import signs_of, signs_of_line

DATA = Path(__file__).parent / "data"
TOKEN = "hf_planted0123456789"
HOME = "/home/planted-user"
PLANTED = (TOKEN, HOME, "planted-host", "planted-user", "planted-password", "planted output")
ENVIRON = f"AWS_SECRET_ACCESS_KEY={TOKEN}\0PWD=/x\0"


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "nsight_suite.scan", *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def export(path: Path) -> Path:
    """An nsys export with the four places of case 29, and more."""
    make_export(
        path,
        kernels=[Kernel("k", 1, 2, 1)],
        nvtx=[Range(f"step {TOKEN}", 1, 2), Range("a/b num_tokens=128", 1, 2)],
        strings={112: ENVIRON, 113: "planted output of the program", 114: f"{HOME}/app/main.py"},
        export={
            "EXPORT_HOST": "planted-host",
            "EXPORT_USER": "planted-user",
            "EXPORT_PARAM_INPUT_PATH_ABS": HOME,
        },
    )
    with closing(sqlite3.connect(path)) as database:
        database.executemany(
            "INSERT INTO META_DATA_CAPTURE VALUES (?, ?)",
            [
                ("PROCESS_0:ENVIRONMENT_VARIABLE", f'HF_TOKEN="{TOKEN}"'),
                ("PROCESS_0:ENVIRONMENT_VARIABLE", 'OMP_NUM_THREADS="1"'),
                ("PROCESS_0:COMMAND", "/usr/bin/python3"),
                ("PROCESS_0:ARGUMENT_0", "--password=planted-password"),
            ],
        )
        database.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (devStateName TEXT, name TEXT, value TEXT)")
        system = [("DeviceEnvironment", f"A=1;HF_TOKEN={TOKEN};HOME={HOME}"), ("Hostname", "planted-host")]
        database.executemany("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Local (CLI)', ?, ?)", system)
        database.execute(
            "CREATE TABLE ProcessStreams (globalPid INTEGER, filenameId INTEGER, contentId INTEGER)"
        )
        database.execute("INSERT INTO ProcessStreams VALUES (1, 1, 113)")
        database.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
        database.executemany("INSERT INTO PROCESSES VALUES (1, 1, ?)", [("bash",), ("python3",)])
        database.execute("CREATE TABLE TABLE_OF_2027 (number INTEGER, note)")
        database.execute("INSERT INTO TABLE_OF_2027 VALUES (?, ?)", (f"{HOME}/x", f"see {HOME}/y".encode()))
        database.commit()
    return path


def at(leaks: tuple[Leak, ...], place: str) -> dict[Kind, tuple[int, tuple[str, ...]]]:
    return {leak.kind: (leak.count, leak.names) for leak in leaks if leak.place == place}


# -- exports ---------------------------------------------------------------------------------------


def test_every_place_of_an_export_is_found(tmp_path: Path) -> None:
    """Case 29: META_DATA_CAPTURE twice, TARGET_INFO_SYSTEM_ENV and StringIds; case 97: host, user and paths."""
    leaks = scan([export(tmp_path / "r.sqlite")]).leaks
    assert at(leaks, "META_DATA_CAPTURE.value") == {
        Kind.ENVIRONMENT: (2, ("HF_TOKEN", "OMP_NUM_THREADS")),
        Kind.COMMAND: (2, ()),
        Kind.CREDENTIAL: (1, ()),
        Kind.PATH: (1, ()),
    }
    assert at(leaks, "META_DATA_EXPORT.value") == {
        Kind.HOST: (1, ()),
        Kind.USER: (1, ()),
        Kind.HOME: (1, ()),
    }
    assert at(leaks, "TARGET_INFO_SYSTEM_ENV.value") == {
        Kind.ENVIRONMENT: (3, ("A", "HF_TOKEN", "HOME")),
        Kind.HOST: (1, ()),
    }
    strings = at(leaks, "StringIds.value")
    assert strings[Kind.ENVIRONMENT] == (2, ("AWS_SECRET_ACCESS_KEY", "PWD"))
    assert strings[Kind.HOME] == (1, ())
    assert at(leaks, "StringIds.value (ProcessStreams)") == {Kind.OUTPUT: (1, ())}
    assert at(leaks, "PROCESSES.name") == {Kind.PROCESS: (2, ())}


def test_a_private_value_in_a_range_s_name_is_found(tmp_path: Path) -> None:
    names = at(scan([export(tmp_path / "r.sqlite")]).leaks, "NVTX_EVENTS.text")
    assert names == {Kind.CREDENTIAL: (1, ()), Kind.REPEATED: (1, ("HF_TOKEN",))}


def test_tables_that_nobody_knows_are_looked_into(tmp_path: Path) -> None:
    """Text in a column of integers, and a blob."""
    leaks = scan([export(tmp_path / "r.sqlite")]).leaks
    assert at(leaks, "TABLE_OF_2027.number")[Kind.HOME] == (1, ())
    assert at(leaks, "TABLE_OF_2027.note")[Kind.HOME] == (1, ())


def test_parquet_exports_are_looked_into_alike(tmp_path: Path) -> None:
    source, folder = export(tmp_path / "r.sqlite"), tmp_path / "r_pqtdir"
    folder.mkdir()
    with closing(sqlite3.connect(source)) as database, duckdb.connect() as connection:
        for table in ("StringIds", "META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV", "ProcessStreams", "PROCESSES"):
            rows = database.execute(f"SELECT * FROM {table}").fetchall()
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            connection.execute(f"CREATE TABLE {table} ({', '.join(f'{name} VARCHAR' for name in columns)})")
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
            connection.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
    leaks = scan([folder]).leaks
    assert {leak.file for leak in leaks} == {str(folder)}
    assert at(leaks, "TARGET_INFO_SYSTEM_ENV.value")[Kind.ENVIRONMENT] == (3, ("A", "HF_TOKEN", "HOME"))
    assert at(leaks, "StringIds.value (ProcessStreams)") == {Kind.OUTPUT: (1, ())}
    assert at(leaks, "StringIds.value")[Kind.ENVIRONMENT] == (2, ("AWS_SECRET_ACCESS_KEY", "PWD"))


@pytest.mark.parametrize("form", ["text", "json"])
def test_nothing_planted_is_ever_printed(tmp_path: Path, form: str) -> None:
    done = command(export(tmp_path / "r.sqlite"), "--format", form)
    assert done.returncode == 1
    assert "HF_TOKEN" in done.stdout
    assert not [text for text in PLANTED if text in done.stdout + done.stderr]


def test_reduced_exports_tell_nothing() -> None:
    """tests/data: from these everything private was removed."""
    assert scan(sorted(DATA.glob("*.sqlite"))).leaks == ()


# -- other files -----------------------------------------------------------------------------------


def test_a_page_of_ncu_tells_processes_and_hosts(tmp_path: Path) -> None:
    page = tmp_path / "r.csv"
    page.write_text(
        f"==PROF== Connected to process 457 ({HOME}/venv/bin/python3.12)\n"
        '"ID","Process ID","Process Name","Host Name","Kernel Name","gpu__time_duration.sum"\n'
        '"","","","","","ns"\n'
        '"0","457","python3.12","planted-host","k<a, b>","1,000"\n'
        '"1","457","python3.12","127.0.0.1","k","1,000"\n'
    )
    leaks = {leak.kind: (leak.place, leak.count) for leak in scan([page]).leaks}
    assert leaks == {Kind.HOME: ("line 1", 1), Kind.PROCESS: ("line 4", 2), Kind.HOST: ("line 4", 1)}


def test_a_session_page_tells_its_command_line(tmp_path: Path) -> None:
    page = tmp_path / "session.csv"
    page.write_text(
        '"Launch Settings"\n\n"Command line","train --api-key planted-password"\n"Hostname","gold"\n'
    )
    leaks = {leak.kind: leak.place for leak in scan([page]).leaks}
    assert leaks == {Kind.COMMAND: "line 3", Kind.CREDENTIAL: "line 3", Kind.HOST: "line 4"}


def test_binary_reports_are_searched(tmp_path: Path) -> None:
    """nsys writes its environment as entries of a map, and as text joined by `;`."""
    path = tmp_path / "r.nsys-rep"
    entry = b"\x0a\x08HF_TOKEN\x12\x14" + TOKEN.encode()
    path.write_bytes(
        b"NVIDIA Tegra Profiler Report 2023@4@4@54-1v0.\n"
        + b"\0" * 3_000_000
        + entry
        + b"\x01\x02"
        + f"SHELL=/bin/sh;HOME={HOME};A=1".encode()
        + b"\0\xff\xfe\x00dram__bytes_read.sum\x12\x01"
    )
    leaks = {leak.kind: leak for leak in scan([path]).leaks}
    assert set(leaks) == {Kind.ENVIRONMENT, Kind.CREDENTIAL, Kind.HOME, Kind.OPAQUE}
    assert leaks[Kind.ENVIRONMENT].names == ("A", "HF_TOKEN", "HOME", "SHELL")
    assert leaks[Kind.ENVIRONMENT].place == "byte 3000046"


def test_a_secret_across_two_blocks_is_found_once(tmp_path: Path) -> None:
    path = tmp_path / "r.bin"
    text = f"\1HF_TOKEN={TOKEN}\1".encode()
    for shift in range(0, len(text) + 2, 5):
        path.write_bytes(b"\0" * ((1 << 20) - shift) + text + b"\0" * 9000)
        found = {leak.kind: leak.count for leak in scan([path]).leaks}
        assert found == {Kind.ENVIRONMENT: 1, Kind.CREDENTIAL: 1}, shift


@pytest.mark.parametrize("suffix", ["gz", "zip"])
def test_what_is_packed_is_looked_into(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.{suffix}"
    if suffix == "gz":
        path.write_bytes(gzip.compress(f"export HF_TOKEN={TOKEN}\n".encode()))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("log", f"export HF_TOKEN={TOKEN}\n")
    (one, *_) = [leak for leak in scan([path]).leaks if leak.kind is Kind.ENVIRONMENT]
    assert one.names == ("HF_TOKEN",)


def test_what_cannot_be_looked_into_is_told(tmp_path: Path) -> None:
    (tmp_path / "r.zst").write_bytes(b"\x28\xb5\x2f\xfd....")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 9999)[:-9])
    assert [(Path(leak.file).name, leak.kind) for leak in scan([tmp_path]).leaks] == [
        ("cut.gz", Kind.OPAQUE),
        ("r.zst", Kind.OPAQUE),
    ]


def test_a_captured_run_tells_where_each_secret_lies(tmp_path: Path) -> None:
    run = make_real_run(tmp_path / "run")
    holders = {path for path in run.path.rglob("*") if _holds(path, SECRETS)}
    told = {Path(leak.file) for leak in scan([run.path]).leaks}
    assert holders <= told


def _holds(path: Path, secrets: tuple[str, ...]) -> bool:
    return path.is_file() and any(secret.encode() in path.read_bytes() for secret in secrets)


def test_the_recorded_run_is_fit_to_publish(recorded_run: RunFolder) -> None:
    assert scan([recorded_run.path]).leaks == ()
    done = command(recorded_run.path)
    assert (done.returncode, done.stdout) == (0, "Nothing private was found.\n")


# -- single texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("void cub::DeviceReduceKernel<float, cuda::plus<void>>(T2, T5 *)", set()),
        ("row:fused:graph:4096x4096", set()),
        ("outer / inner / step", set()),
        ("byte/block, inst/cycle and docs/tour.ipynb", set()),
        ("see https://example.org/a/b", set()),
        ("lr=0.1 num_tokens=128 key=3 BATCH=32", set()),
        ("x == y/z", set()),
        ("-I/usr/include/cuda", set()),  # not after a space: part of a word
        ("nvcc -I/usr/include/cuda", {Kind.PATH}),
        ("/opt/app/main.py:12", {Kind.PATH}),
        ("in /root", {Kind.HOME}),
        ("/rooted/x", {Kind.PATH}),
        (r"C:\Users\planted\x", {Kind.HOME}),
        (r"D:\data\x", {Kind.PATH}),
        ("https://user:pw@example.org/x", {Kind.CREDENTIAL}),
        ("run --token abcd", {Kind.CREDENTIAL}),
        ("-----BEGIN RSA PRIVATE KEY-----", {Kind.CREDENTIAL}),
        ("export MY_API_KEY=abcd", {Kind.ENVIRONMENT}),
        ("a=1\0", {Kind.ENVIRONMENT}),
    ],
)
def test_what_a_text_tells(text: str, kinds: set[Kind]) -> None:
    assert {sign.kind for sign in signs_of(text)} == kinds


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ('  "hostname": "gold",', {Kind.HOST}),
        ('  "hostname": "localhost",', set()),
        ('  "user": null,', set()),
        ("User Name: alice", {Kind.USER}),
        ("$ ncu -o r python train.py", {Kind.COMMAND}),
        ('  "argv": ["python"],', {Kind.COMMAND}),
        ("host completion 12 us", set()),
    ],
)
def test_what_a_line_tells(line: str, kinds: set[Kind]) -> None:
    assert {sign.kind for sign in signs_of_line(line)} == kinds


# -- the command -----------------------------------------------------------------------------------


def test_json_is_one_envelope(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{HOME}/x\n")
    told = json.loads(command(tmp_path / "log", "--format", "json").stdout)
    assert told == {
        "format": 1,
        "leaks": [
            {"file": str(tmp_path / "log"), "place": "line 1", "kind": "home folder", "count": 1, "names": []}
        ],
        "unreadable": [],
    }


def test_what_cannot_be_read_is_status_2_and_the_rest_is_told(tmp_path: Path) -> None:
    export(tmp_path / "whole.sqlite")
    (tmp_path / "cut.sqlite").write_bytes((DATA / "nsys_node.sqlite").read_bytes()[:20000])
    (tmp_path / "gone").symlink_to("nowhere")
    done = command(tmp_path)
    assert done.returncode == 2
    assert "META_DATA_CAPTURE.value" in done.stdout
    assert "cut.sqlite is damaged" in done.stdout
    assert "gone\n  cannot be read: No such file or directory" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_missing_path_is_an_error() -> None:
    with pytest.raises(UsageError, match="no file or folder"):
        scan([Path("nowhere")])
    assert command("nowhere").returncode == 2


def test_a_scan_changes_nothing(tmp_path: Path) -> None:
    path = export(tmp_path / "r.sqlite")
    before = path.read_bytes()
    scan([tmp_path])
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.sqlite"]
    assert path.read_bytes() == before


def test_ctrl_c_is_heard_inside_a_large_table(tmp_path: Path) -> None:
    """SQLite looks through many rows without a text before it returns one."""
    path = tmp_path / "r.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE numbers (n INTEGER)")
        many = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300000) SELECT n FROM c"
        database.execute(f"INSERT INTO numbers {many}")
        database.commit()

    def interrupted(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    def ask() -> None:
        with sqlite_cells(path) as database:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            list(database.rows("SELECT count(*) FROM numbers a, numbers b WHERE a.n + b.n = -1"))

    earlier = signal.signal(signal.SIGALRM, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            ask()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


@pytest.mark.parametrize("name", ["r.nsys-rep", "r.ncu-rep", "r.gz", "r.sqlite"])
def test_a_file_that_is_not_what_its_name_says_was_not_looked_into(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bytes(range(256)))
    found = scan([tmp_path / name])
    assert found.exit_status == 2
    ((file, reason),) = found.unreadable
    assert file.endswith(name)
    assert "does not begin as" in reason


def test_an_image_cannot_be_looked_into(tmp_path: Path) -> None:
    (tmp_path / "i.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    assert [leak.kind for leak in scan([tmp_path / "i.png"]).leaks] == [Kind.OPAQUE]
