"""Report in a browser: no errors, no connections, working switches.

Screenshots are in tests/artefacts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyglot.report import write
from tests.builders.runs import tiny_run
from tests.conftest import ROOT
from tests.report.pages import HTML_TEXT, report_run, training_record, write_large_evaluation

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

from tests.builders.browser import needs_browser, open_browser  # noqa: E402

ARTEFACTS = ROOT / "tests" / "artefacts"
pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    path = write(
        report_run(tmp_path_factory.mktemp("report")),
        sentences=[("de", HTML_TEXT), ("en", "one dog sings")],
    )
    with open_browser() as driver:
        driver.get(path.as_uri())
        yield driver


def texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    return [element.text for element in browser.find_elements(By.CSS_SELECTOR, selector)]


def test_the_page_opens_without_errors_and_without_connections(browser: webdriver.Chrome) -> None:
    assert browser.title == "run · Polyglot"  # which a script of the corpus would have changed
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_matrix_has_switches_for_measure_view_and_kind(browser: webdriver.Chrome) -> None:
    form = browser.find_element(By.ID, "matrix-controls")
    cells = "#matrix-shown td button"
    before = texts(browser, cells)
    assert len(before) == 9
    assert sum("†" in text for text in before) == 2
    measure, view = (Select(form.find_element(By.NAME, name)) for name in ("measure", "view"))
    measure.select_by_visible_text("TER")
    ter = texts(browser, cells)
    assert (
        ter != before
        and "lower is better" in browser.find_element(By.CSS_SELECTOR, "#matrix-shown caption").text
    )
    measure.select_by_value("bleu-paper")
    view.select_by_value("pivot")
    pivot_cells = texts(browser, cells)
    assert len(pivot_cells) == 2
    assert all(text.endswith("‡") for text in pivot_cells)
    view.select_by_value("paper")
    assert "0.8†" in texts(browser, cells)  # de-fr without copies: 0.83
    view.select_by_value("beside")
    for cell in browser.find_elements(By.CSS_SELECTOR, "#matrix-shown td[data-kind]"):
        assert (cell.get_dom_attribute("data-worse") is not None) == cell.text.startswith("-"), (
            cell.text
        )
    assert "red: worse" in browser.find_element(By.ID, "matrix-key").text
    view.select_by_value("direct")
    assert not browser.find_elements(By.CSS_SELECTOR, "#matrix-shown [data-worse]")
    assert "the better" in browser.find_element(By.ID, "matrix-key").text
    measure.select_by_value("bleu")
    (box,) = form.find_elements(By.CSS_SELECTOR, "input[value='zero-shot']")
    box.click()
    assert len(browser.find_elements(By.CSS_SELECTOR, "#matrix-shown td.faded")) == 2
    box.click()
    assert texts(browser, cells) == before


def test_a_cell_and_its_sentences_are_reachable_with_the_keyboard(
    browser: webdriver.Chrome,
) -> None:
    (cell,) = browser.find_elements(
        By.XPATH, "//*[@id='matrix-shown']//tr[th='de']/td[3]/button"
    )  # into French
    browser.execute_script("arguments[0].focus()", cell)
    detail = browser.find_element(By.ID, "matrix-detail").text
    assert (
        detail.startswith("de → fr · zero-shot · BLEU")
        and "95 % interval" in detail
        and "off-target" in detail
    )
    cell.send_keys(Keys.ENTER)
    assert (
        browser.find_element(
            By.CSS_SELECTOR, "#examples-controls select[name='pair']"
        ).get_property("value")
        == "de-fr"
    )


def test_examples_are_text_in_the_selected_order(browser: webdriver.Chrome) -> None:
    form = browser.find_element(By.ID, "examples-controls")
    Select(form.find_element(By.NAME, "pair")).select_by_value("de-fr")
    order = Select(form.find_element(By.NAME, "order"))
    order.select_by_value("text")
    items = texts(browser, "#examples-shown li")
    assert browser.find_elements(By.CSS_SELECTOR, "#examples-shown dd[dir='auto'][lang='fr']")
    assert (
        len(items) == 4
        and HTML_TEXT in items[0]
        and HTML_TEXT in items[3]
        and "through en" in items[0]
    )
    assert browser.find_elements(By.CSS_SELECTOR, "#examples-shown script") == []
    order.select_by_value("best")
    best = texts(browser, "#examples-shown li")
    order.select_by_value("worst")
    assert sorted(best) == sorted(items) and texts(browser, "#examples-shown li") != best
    search = form.find_element(By.NAME, "search")
    search.send_keys("quoted")
    assert len(texts(browser, "#examples-shown li")) == 2
    search.clear()
    search.send_keys(Keys.SPACE, Keys.BACKSPACE)
    assert browser.find_elements(By.CSS_SELECTOR, "#examples-shown del")


def test_curves_and_sentences_of_the_bridge_can_be_selected(browser: webdriver.Chrome) -> None:
    (box,) = browser.find_elements(By.CSS_SELECTOR, "#chart-loss .legend input[data-curve='en-de']")
    (curve,) = browser.find_elements(By.CSS_SELECTOR, "#chart-loss g[data-curve='en-de']")
    assert curve.is_displayed()
    box.click()
    assert not curve.is_displayed()
    heads = browser.find_elements(By.CSS_SELECTOR, ".heads")
    assert [head.is_displayed() for head in heads] == [True, False]
    Select(browser.find_element(By.CSS_SELECTOR, "#attention-controls select")).select_by_index(1)
    assert [head.is_displayed() for head in heads] == [False, True]


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("light", 1200, "light"), ("dark", 1200, "dark"), ("phone", 390, "light")],
)
def test_the_page_fits_light_and_dark_screens_and_phones(
    browser: webdriver.Chrome, name: str, width: int, scheme: str
) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.refresh()
    assert browser.execute_script("return document.documentElement.scrollWidth") == width, (
        "nothing is wider than the screen"
    )
    light = browser.execute_script(
        "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 127"
    )
    assert light == (scheme == "light")
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": min(height, 8000),
            "deviceScaleFactor": 1,
            "mobile": width < 500,
        },
    )
    ARTEFACTS.mkdir(exist_ok=True)
    assert browser.save_screenshot(str(Path(ARTEFACTS) / f"report-{name}.png"))
    assert browser.get_log("browser") == []


def test_the_button_changes_the_theme(browser: webdriver.Chrome) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(colour)
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(colour) != before
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(colour) == before


def test_the_page_can_be_printed(browser: webdriver.Chrome) -> None:
    import base64

    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    try:
        for theme in ("", "dark"):  # of the system, and of the button
            set_theme = f"document.documentElement.dataset.theme = '{theme}'"
            background = "getComputedStyle(document.body).backgroundColor"
            colour = browser.execute_script(f"{set_theme}; return {background}")
            assert colour == "rgb(255, 255, 255)", "paper is white"
        assert (
            not browser.find_element(By.ID, "matrix-controls").is_displayed()
            and browser.find_element(By.CSS_SELECTOR, "#matrix-shown table").is_displayed()
        )
        browser.save_screenshot(str(Path(ARTEFACTS) / "report-print.png"))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_script("delete document.documentElement.dataset.theme")
    content = base64.b64decode(
        browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    )
    assert content.startswith(b"%PDF") and len(content) > 10_000


# Many languages

LARGE = 14


@pytest.fixture
def large(browser: webdriver.Chrome, tmp_path: Path) -> webdriver.Chrome:
    """Browser with the report of a run in many languages."""
    run = tiny_run(tmp_path)
    write_large_evaluation(run, languages=LARGE)
    records = []
    for step in range(1, 20):
        record = training_record(step)
        for number in range(LARGE):
            loss = 3 / step + number + 0.5 * (step % 2)
            record["tasks"][f"l{number}-en"] = {"tokens": 9, "translation": loss}
        records.append(json.dumps(record) + "\n")
    run.log.write_text("".join(records), encoding="utf-8")
    path = write(run)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 500, "deviceScaleFactor": 1, "mobile": True},
    )
    browser.get(path.as_uri())
    return browser


POSITIONS = """
const box = document.querySelector("#matrix-shown .scroll");
box.scrollTo(10000, 10000);
const edge = (element) => element.getBoundingClientRect();
return {
  scrolled: [box.scrollLeft, box.scrollTop],
  top: edge(box.querySelector("thead")).top - edge(box).top,
  left: edge(box.querySelector("tbody tr:last-child th")).left - edge(box).left,
  width: document.documentElement.scrollWidth,
  means: Array.from(document.querySelectorAll("#matrix-means .scroll"), (means) =>
    means.scrollWidth - means.clientWidth),
};
"""


def test_headings_of_a_large_matrix_stay_in_view_on_a_phone(large: webdriver.Chrome) -> None:
    positions = large.execute_script(POSITIONS)
    assert min(positions["scrolled"]) > 0
    assert abs(positions["top"]) <= 1
    assert abs(positions["left"]) <= 1
    assert positions["width"] == 390
    assert positions["means"] == [0], "means are not cut off"
    assert large.get_log("browser") == []


def test_arrow_keys_move_between_cells(large: webdriver.Chrome) -> None:
    assert len(large.find_elements(By.CSS_SELECTOR, "#matrix-shown td [tabindex='0']")) == 1
    cell = large.find_element(By.CSS_SELECTOR, "#matrix-shown td [tabindex='0']")
    large.execute_script("arguments[0].focus()", cell)
    detail = large.find_element(By.ID, "matrix-detail")
    assert detail.text.startswith("l0 → l1 ")
    cell.send_keys(Keys.ARROW_RIGHT)
    assert detail.text.startswith("l0 → l2 ")
    large.switch_to.active_element.send_keys(Keys.END)
    assert detail.text.startswith("l0 → l13 ")
    large.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.HOME)
    assert detail.text.startswith("l1 → l0 ")
    large.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert detail.text.startswith("l1 → l0 ")
    assert len(large.find_elements(By.CSS_SELECTOR, "#matrix-shown td [tabindex='0']")) == 1


def test_some_languages_and_output_errors_can_be_selected(large: webdriver.Chrome) -> None:
    form = large.find_element(By.ID, "matrix-controls")
    form.find_element(By.NAME, "languages").send_keys("l1 l13 l0")
    assert texts(large, "#matrix-shown tbody th") == ["l0", "l1", "l13"]
    Select(form.find_element(By.NAME, "measure")).select_by_value("error:off_target")
    cells = large.find_elements(By.CSS_SELECTOR, "#matrix-shown td[data-kind]")
    assert {cell.text.rstrip("†") for cell in cells} == {"2.5"}
    assert {cell.get_dom_attribute("style") for cell in cells} == {"--v:0.025"}, "nearly no colour"
    form.find_element(By.NAME, "numbers").click()
    assert large.find_elements(By.CSS_SELECTOR, "#matrix-shown .grid.plain")


def test_curves_have_switches_for_all_and_none_and_smoothing(large: webdriver.Chrome) -> None:
    visible = """
    return Array.from(document.querySelectorAll("#chart-loss g.curve"))
      .filter((curve) => curve.style.display !== "none").length;
    """
    path = "return document.querySelector('#chart-loss g.curve path').getAttribute('d')"
    count = LARGE + 3  # two other tasks, and the mean
    assert large.execute_script(visible) == count
    large.execute_script("document.querySelector('#chart-loss .legend-box').open = true")
    none, all_curves = (
        large.find_element(By.CSS_SELECTOR, f"#chart-loss [data-show='{name}']")
        for name in ("none", "all")
    )
    large.execute_script("arguments[0].click()", none)
    assert large.execute_script(visible) == 0
    large.execute_script("arguments[0].click()", all_curves)
    assert large.execute_script(visible) == count

    before = large.execute_script(path)
    form = large.find_element(By.ID, "curves-controls")
    width = Select(form.find_element(By.NAME, "width"))
    width.select_by_value("7")
    smooth = large.execute_script(path)
    assert smooth != before
    first, *_, last = before.split("L")
    smooth_first, *_, smooth_last = smooth.split("L")
    assert [float(part) for part in smooth_first[1:].split()] == [
        float(part) for part in first[1:].split()
    ], "both ends stay"
    assert float(smooth_last.split()[1]) == float(last.split()[1])
    assert smooth.count("L") == before.count("L")
