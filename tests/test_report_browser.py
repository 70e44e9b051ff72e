"""The report in a real browser: what a reader sees, reaches by keyboard, prints, and has without scripts.

It needs a Chromium or Chrome on PATH; none is downloaded.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import CUDNN_KERNEL, ROUNDS, Rows, make_run

from nsight_suite.drawing import draw
from nsight_suite.reconciliation import reconcile_run
from nsight_suite.reporting import write_report
from nsight_suite.reporting.pages import PAGES

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install playwright"
)
Page = Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-component-update"),
    "--disable-background-networking",
)
# A kernel may be called anything, and what nsys wrote of it may come from anyone.
HOSTILE = "<img src=x onerror=alert(1)>\"'</td></script><script>alert(2)</script>&amp; {{ 7 * 7 }}"


def name_a_kernel_like_markup(tables: Rows) -> None:
    for rows in tables.values():
        for row in rows:
            row |= {column: HOSTILE for column, value in row.items() if value == CUDNN_KERNEL}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a run with every pass, a figure, and a kernel with a hostile name."""
    run = make_run(tmp_path_factory.mktemp("browser") / "run", edit=name_a_kernel_like_markup, whole=True)
    html, _ = write_report(run, reconcile_run(run), draw(run, ["row-completion"]), run.path)
    return html


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(
            "There is no browser: install Chromium or Chrome so that it is on PATH (apt install chromium)."
        )
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=found, args=list(OPTIONS), env={**os.environ, "LANG": "C.UTF-8"}
        )
        yield started
        started.close()


Opener = Callable[..., Page]


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opener]:
    """Opens the report at an anchor, in a context of these settings; `page.said` collects its complaints."""
    contexts = []

    def open_page(anchor: str = "", **settings: Any) -> Page:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings}))
        page = contexts[-1].new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("dialog", lambda dialog: (page.said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"{report.as_uri()}{anchor}")
        return page

    yield open_page
    for context in contexts:
        context.close()


def shown_pages(page: Page) -> list[str]:
    return [name for name in PAGES if page.locator(f"#title-{name}").is_visible()]


def width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


# -- safe and quiet --------------------------------------------------------------------------------


def test_no_complaint_and_no_request(opened: Opener, report: Path) -> None:
    page = opened()
    for name in PAGES:
        page.click(f"#tab-{name}")
    assert page.said == []
    assert {url for url in page.asked if not url.startswith("data:")} == {report.as_uri()}


def test_the_policy_forbids_all_network_and_other_scripts(opened: Opener) -> None:
    page = opened()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        page.evaluate(
            """(url) => {
                window.refused = [];
                addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
                const script = document.createElement("script");
                script.textContent = "window.ran = 1";
                document.body.append(script, Object.assign(new Image(), { src: `${url}/a.png` }));
                fetch(`${url}/b`).catch(() => 0);
            }""",
            f"http://127.0.0.1:{listening.getsockname()[1]}",
        )
        page.wait_for_function("refused.length >= 3")
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert {"img-src", "script-src-elem", "connect-src"} <= set(page.evaluate("refused"))
    assert page.evaluate("window.ran") is None


def test_a_hostile_name_is_text(opened: Opener) -> None:
    page = opened("#table-resources")
    assert page.locator("#table-resources th", has_text=HOSTILE).first.is_visible()
    assert page.locator("img").count() == page.locator("figure img").count()
    assert page.said == []


# -- pages -----------------------------------------------------------------------------------------


def test_one_page_at_a_time_each_with_an_address(opened: Opener) -> None:
    page = opened()
    assert shown_pages(page) == ["results"]
    for name in PAGES:
        page.click(f"#tab-{name}")
        assert page.evaluate("location.hash") == f"#{name}"
        assert shown_pages(page) == [name]
    page.go_back()
    page.wait_for_function("location.hash === '#evidence'")
    assert shown_pages(page) == ["evidence"]
    assert shown_pages(opened("#limits")) == ["limits"]
    assert shown_pages(opened("#no-such-thing")) == ["results"]


def test_tabs_by_keyboard(opened: Opener) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    focused = "document.activeElement.id"
    assert page.evaluate(focused) == "tab-results"
    for key, then in (
        ("ArrowRight", "evidence"),
        ("End", "limits"),
        ("ArrowRight", "protocol"),
        ("Home", "protocol"),
    ):
        page.keyboard.press(key)
        assert page.evaluate(focused) == f"tab-{then}"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert shown_pages(page) == ["results"]
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#protocol'")
    assert shown_pages(page) == ["protocol"]
    selected = page.locator('[role="tab"][aria-selected="true"]')
    assert selected.count() == 1
    assert selected.get_attribute("aria-controls") == "protocol"


@pytest.mark.parametrize("name", PAGES)
def test_every_table_and_figure_of_a_page_is_visible(opened: Opener, name: str) -> None:
    page = opened(f"#{name}")
    tables = page.locator(f"#{name} table.rows")
    assert tables.count() >= {"protocol": 3, "results": 15, "evidence": 6, "limits": 0}[name]
    assert all(one.is_visible() for one in tables.all())
    assert page.evaluate(
        f"[...document.querySelectorAll('#{name} img')].every((one) => one.naturalWidth > 300)"
    )
    if name == "results":
        assert page.locator("#figures ~ figure img").is_visible()


# -- from a number to what is behind it ------------------------------------------------------------


def test_a_number_leads_to_its_row_and_samples_and_back(opened: Opener) -> None:
    page = opened("#table-host_completion")
    number = page.locator("#table-host_completion tbody tr").nth(2).locator("a").nth(1)
    place = page.evaluate("scrollY")
    assert place > 0
    number.click()
    page.wait_for_function("location.hash === '#host_completion.3'")
    behind = page.locator('[id="host_completion.3"]')
    assert shown_pages(page) == ["evidence"]
    assert behind.is_visible()
    assert behind.locator("svg").is_visible()
    assert behind.locator("tbody tr").count() == ROUNDS
    assert page.evaluate("document.activeElement.id") == "host_completion.3"
    top = behind.bounding_box()["y"]
    assert 0 < top < 900
    page.locator("#query-host_completion summary", has_text="SQL").click()
    assert "FROM sample AS s" in page.locator("#query-host_completion pre").first.inner_text()
    page.go_back()
    page.wait_for_function("location.hash === '#table-host_completion'")
    assert shown_pages(page) == ["results"]
    assert abs(page.evaluate("scrollY") - place) < 50


def test_the_spread_of_a_number_by_mouse_and_by_keyboard(opened: Opener) -> None:
    page = opened("#table-host_completion")
    number = page.locator("#table-host_completion tbody tr").nth(1).locator("a").nth(1)
    tip = page.get_by_role("tooltip")
    assert not tip.is_visible()
    for appear in (number.hover, number.focus):
        appear()
        assert tip.is_visible()
        assert all(word in tip.inner_text() for word in ("median", "p10", "p90", "µs", f"{ROUNDS} samples"))
        assert number.get_attribute("aria-describedby") == "tip"
        page.mouse.move(5, 5)
        page.keyboard.press("Escape")
        assert not tip.is_visible()


# -- sorting and filtering -------------------------------------------------------------------------


def test_a_table_sorts_by_any_column(opened: Opener) -> None:
    page = opened("#table-host_completion")
    head = page.locator("#table-host_completion thead th").nth(2)
    rows_of = "[...document.querySelector('#table-host_completion').tBodies[0].rows]"
    column = f"{rows_of}.map((row) => row.cells[{{}}].innerText)"
    rows = page.evaluate(column.format(0))
    head.locator("button").focus()
    for key, order, reverse in (("Enter", "ascending", False), ("Space", "descending", True)):
        page.keyboard.press(key)
        assert head.get_attribute("aria-sort") == order
        values = [float(text) for text in page.evaluate(column.format(2))]
        assert values == sorted(values, reverse=reverse)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") is None
    assert page.evaluate(column.format(0)) == rows


def test_rows_are_filtered_and_a_link_to_a_hidden_one_shows_it(opened: Opener) -> None:
    page = opened("#evidence")
    field = page.get_by_label("Show only rows with").locator("visible=true")
    field.fill("FUSED graph 4096")
    labels = page.locator("#query-host_completion .every summary").locator("visible=true").all_inner_texts()
    assert len(labels) == 1
    assert "row:fused:graph:4096x4096" in labels[0]
    assert page.locator("#evidence output").inner_text().endswith("rows")
    page.evaluate("location.hash = '#host_completion.1'")
    page.wait_for_function("document.activeElement.id === 'host_completion.1'")
    assert page.locator('[id="host_completion.1"]').is_visible()
    assert field.input_value() == ""


# -- every reader ----------------------------------------------------------------------------------


def test_a_narrow_screen_scrolls_tables_not_the_page(opened: Opener) -> None:
    page = opened(viewport={"width": 360, "height": 740})
    for name in PAGES:
        page.click(f"#tab-{name}")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert width(page) == 360, name
    assert all(
        one.bounding_box()["x"] + one.bounding_box()["width"] <= 360 for one in page.locator(".tabs a").all()
    )


def test_without_scripts_everything_is_there(opened: Opener) -> None:
    page = opened("#host_completion.2", java_script_enabled=False)
    assert shown_pages(page) == list(PAGES)
    assert all(one.is_visible() for one in page.locator("table.rows").all())
    assert page.locator("[hidden], input").count() == 0
    assert page.locator("#table-host_completion tbody a[title]").count() > 0
    assert page.locator('[id="host_completion.2"] svg').is_visible()


def test_print_has_all_pages_and_cuts_no_table(opened: Opener) -> None:
    page = opened("#host_completion.1", viewport={"width": 688, "height": 1000}, color_scheme="dark")
    page.emulate_media(media="print")
    assert shown_pages(page) == list(PAGES)
    assert not page.locator("nav").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert width(page) <= 688
    # An opened row is printed whole, of a closed one its plot.
    assert page.locator('[id="host_completion.1"] tbody').is_visible()
    assert not page.locator('[id="host_completion.2"] tbody').is_visible()
    assert page.locator('[id="host_completion.2"] svg').is_visible()
    assert page.locator("#query-host_completion pre").first.is_visible()


CONTRAST = """() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => parts(colour).slice(0, 3).map((part) => part / 255)
        .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
    const behind = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const colour = getComputedStyle(one).backgroundColor;
            if ((parts(colour)[3] ?? 1) > 0) return colour;
        }
    };
    const bad = new Set();
    let seen = 0;
    for (const element of document.querySelectorAll("body *")) {
        const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!text || !element.checkVisibility()) continue;
        seen += 1;
        const [one, other] = [light(getComputedStyle(element).color), light(behind(element))].sort();
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) bad.add(`${element.localName}.${element.className}: ${ratio.toFixed(2)}`);
    }
    return [seen, [...bad]];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(opened: Opener, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    for name in PAGES:
        page.click(f"#tab-{name}")
        seen, bad = page.evaluate(CONTRAST)
        assert seen > 20
        assert bad == []


def test_a_screen_reader_finds_its_way(opened: Opener) -> None:
    page = opened(java_script_enabled=True)
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5')].map((one) => Number(one.localName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    lacking = page.evaluate("""() => {
        const all = (selector) => [...document.querySelectorAll(selector)];
        const ids = all("[id]").map((one) => one.id);
        return {
            twice: ids.filter((id, place) => ids.indexOf(id) !== place),
            nowhere: all('a[href^="#"]').map((one) => one.getAttribute("href").slice(1))
                .filter((id) => !document.getElementById(id)),
            unlabelled: all("input").filter((one) => !one.labels.length).length,
            silent: all("img").filter((one) => !one.alt).length,
            nameless: all("a, button, summary").filter((one) => !one.textContent.trim()).length,
            untold: all(".scroll").filter((one) => one.tabIndex !== 0 || !one.ariaLabel).length,
            headless: all("table").filter((one) => !one.tHead || !one.tHead.querySelector("th")).length,
        };
    }""")
    assert lacking == dict.fromkeys(lacking, 0) | {"twice": [], "nowhere": []}
