"""A protocol that is wrong is refused, with the file and the key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fake_tools.bench import EXPERIMENT

from nsight_suite.errors import UsageError
from nsight_suite.protocol import DEFAULT_METRICS, load
from nsight_suite.sources import data_root

FAKE = (EXPERIMENT / "protocol.toml").read_text()


def changed(folder: Path, old: str, new: str) -> Path:
    """The fake experiment's protocol with one change."""
    assert FAKE.count(old) == 1
    path = folder / "protocol.toml"
    path.write_text(FAKE.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds = 3", "", r"[timing] lacks the key 'rounds'"),
        ("warmups = 1", "", r"[timing] lacks the key 'warmups'"),
        ("batch = 4", "", r"[timing] lacks the key 'batch'"),
        ("graph_setups = 1", "", r"[timing] lacks the key 'graph_setups'"),
        ("rounds = 3", "rounds = 0", "[timing] rounds must be a whole number from 1 on, not 0"),
        ("warmups = 1", "warmup = 1", "[timing] names the unknown key 'warmup'; did you mean 'warmups'?"),
        ("seed = 7", "seed = 7.5", "[experiment] seed must be a whole number from 0 on, not 7.5"),
        ('["stream", "graph"]', '["stream", "graf"]', "unknown submission 'graf'; did you mean 'graph'?"),
        ('["stream", "graph"]', '"stream"', "[experiment] submissions must be a list of texts"),
        (
            'before = ["normal"]',
            "before = []",
            "[fixtures] before must be a list of texts, at least one, not []",
        ),
        ('["validate", "timing",', '["validate", "time",', "unknown pass 'time'; did you mean 'timing'?"),
        ("{ n = 8 }", "{ n = 8.5 }", "[shapes.small] n must be a whole number from 1 on, not 8.5"),
        ("{ n = 8 }", "{ n = '8' }", "[shapes.small] n must be a whole number from 1 on, not '8'"),
        ("timed = false", "timed = 0", "[shapes.odd] timed must be true or false, not 0"),
        ("[passes.nsys]", "[passes.nsyss]", "[passes] names the unknown key 'nsyss'; did you mean 'nsys'?"),
        ("invocations = 3", "invocation = 3", "[passes.nsys] names the unknown key 'invocation'; did you mean"),
        ("invocations = 3", "tools = []", "[passes.nsys] names the unknown key 'tools'; known: timeout_s"),
        ('["memcheck",', '["memchek",', "unknown tool 'memchek'; did you mean 'memcheck'?"),
        ('shapes = ["odd"]', 'shapes = ["od"]', "[passes.sanitize] names the unknown shape 'od'"),
        ('plain = "one variant"', "plain = 1", "[variants] plain must be text in quotes, not 1"),
        ("[fixtures]", "[fixture]", "it names the unknown key 'fixture'; did you mean 'fixtures'?"),
        ("[tolerances]\nabsolute = 1e-7", "", "it lacks the section [tolerances]"),
        ("absolute = 1e-7", "absolute = '1e-7'", "[tolerances] absolute must be a number"),
        ("{ nsys = 1 }", "1", "[quick.invocations] must be a table, not 1"),
        ("[quick]", "[needs]\nplian = ['libx.so']\n[quick]", "[needs] names the unknown variant 'plian'"),
        ("[quick]", "[passes.pilot]\ninvocations = 1\n[quick]", "invocations must be a whole number from 5 on"),
        (
            "[quick]",
            "[pilot]\nany = ['plain', 'other']\n[quick]",
            "[pilot] and the pass 'pilot' need one another",
        ),
        ("[quick]", "[pilot]\nany = ['plian']\n[quick]", "[pilot] names the unknown variant 'plian'"),
        ('name = "fake"', 'name = "a/b"', "the name 'a/b' may hold only letters"),
        ("[quick]", "[pilot]\none = ['plain']\n[quick]", "[pilot] one leaves nothing to choose"),
        (
            "[quick]",
            "[pilot]\nsome = ['plain', 'plain']\n[quick]",
            "[pilot] some names the variant 'plain' more than once",
        ),
        (
            "[quick]",
            "[pilot]\nsome = ['plain', 'other']\nmore = ['other', 'plain']\n[quick]",
            "[pilot] some and more both choose from 'other'",
        ),
        (
            "[quick]",
            "[pilot]\n'a b' = ['plain', 'other']\n[quick]",
            "[pilot] the name 'a b' may hold only letters",
        ),
        (
            '["validate", "timing",',
            '["validate", "validate",',
            "passes names the pass 'validate' more than once",
        ),
        (
            '["validate", "timing",',
            '["timing", "validate",',
            "passes must be in the order in which they run: validate, timing, nsys",
        ),
        (
            '["validate", "timing",',
            '["validate", "timing-2",',
            "passes has 'timing-2', a second session, without 'timing'",
        ),
        (
            '["stream", "graph"]',
            '["graph", "graph"]',
            "submissions names the submission 'graph' more than once",
        ),
        ('shapes = ["odd"]', 'shapes = ["odd", "odd"]', "[passes.sanitize] shapes names the shape 'odd' more"),
        ('["memcheck",', '["synccheck",', "tools names the tool 'synccheck' more than once"),
        ("{ n = 8 }", "{ n = 8, multiprocessors = 4 }", "[shapes.small] multiprocessors is the device's own"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str):
    path = changed(tmp_path, old, new)
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_metrics_may_be_left_out(tmp_path: Path):
    metrics = '[metrics]\nnames = ["dram__bytes_read.sum", "dram__bytes_write.sum"]\n'
    assert load(changed(tmp_path, metrics, "")).metrics == DEFAULT_METRICS
    assert load(EXPERIMENT / "protocol.toml").metrics == DEFAULT_METRICS[:2]


def test_a_pass_may_be_told_nothing(tmp_path: Path):
    path = changed(tmp_path, "[passes.nsys]\ntimeout_s = 20\ninvocations = 3\n", "")
    settings = load(path).pass_settings("nsys")
    assert (settings.timeout_s, settings.invocations, settings.options) == (600, 1, {})


def test_the_shipped_protocols_are_good():
    shipped = sorted(data_root().glob("capture/*/protocol.toml"))
    assert "row" in [path.parent.name for path in shipped]
    assert [load(path).name for path in shipped] == [path.parent.name for path in shipped]
    for path in data_root().glob("examples/*/protocol/protocol.toml"):
        assert path.parts[-3] == f"{load(path).name}-h200"


def test_a_pilot_before_the_sessions_is_good(tmp_path: Path):
    path = changed(tmp_path, '["validate", "timing",', '["validate", "pilot", "timing", "timing-2",')
    path.write_text(path.read_text() + "\n[pilot]\nsome = ['plain', 'other']\n")
    assert load(path).pilot == {"some": ("plain", "other")}
    path.write_text(path.read_text().replace('"pilot", "timing",', '"timing", "pilot",'))
    with pytest.raises(UsageError, match="order in which they run: validate, pilot, timing, timing-2, nsys"):
        load(path)
