"""The web page in a browser: translation while typing, pivot, attention, directions of writing.

Screenshots are in tests/artefacts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import torch

from polyglot.inference.translator import Translator
from polyglot.serving.limits import Limits
from polyglot.serving.page import web_page
from polyglot.serving.service import TranslationService
from tests.builders.runs import make_trainer, sample_sentences, tiny_run, write_corpus
from tests.conftest import ROOT
from tests.serving.running import running_server

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

from tests.builders.browser import needs_browser, open_browser  # noqa: E402

ARTEFACTS = ROOT / "tests" / "artefacts"
HEBREW = "אחד שני אדום גדול כלב חתול ציפור בית רואה מוצא שר כאן".split()
HTML_TEXT = "<img src=x onerror=document.title='broken'> <b>eins</b>"
SECONDS = 60  # of waiting for the page; a loaded machine is slow
PHONE = {"width": 390, "height": 1400, "deviceScaleFactor": 2, "mobile": True}


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> TranslationService:
    """English, German and Hebrew; the decoders repeat a word."""
    folder = tmp_path_factory.mktemp("page")
    write_corpus(folder)
    for part in ("train", "valid"):
        lines = len((folder / f"{part}.en").read_text().splitlines())
        text = ""
        for number, line in enumerate(sample_sentences("en", lines=lines)):
            words = HEBREW[number % 3 :][: len(line.split())]
            text += " ".join(words) + "\n"
        (folder / f"{part}.he").write_text(text, encoding="utf-8")
    run = tiny_run(folder, "<run>", languages=["en", "de", "he"], training={"steps": 1})
    make_trainer(run).train()
    translator = Translator.load(run)
    for language, word in {"en": "dog", "de": "Hund", "he": "כלב"}.items():
        token = translator.vocabularies[language].encode([word])[0][0]
        with torch.no_grad():
            translator.model.decoders[language].output.bias[token] += 20
    return TranslationService(run, translator, Limits())


@pytest.fixture(scope="module")
def address(service) -> Iterator[str]:
    """The address of the running server."""
    with running_server(service) as address:
        yield address


@pytest.fixture(scope="module")
def opened_browser() -> Iterator[webdriver.Chrome]:
    with open_browser() as driver:
        yield driver


@pytest.fixture
def browser(opened_browser, address) -> webdriver.Chrome:
    """The page, newly opened."""
    opened_browser.get(address)
    return opened_browser


def wait_for(browser: webdriver.Chrome, condition) -> None:
    WebDriverWait(browser, SECONDS).until(lambda _: condition())


def select(browser: webdriver.Chrome, name: str, value: str) -> None:
    Select(browser.find_element(By.NAME, name)).select_by_value(value)


def write(browser: webdriver.Chrome, text: str) -> None:
    """Write a text, and wait for its translation and its attention."""
    field = browser.find_element(By.ID, "text")
    field.clear()
    field.send_keys(text)
    wait_for(browser, lambda: shown(browser, "#attention-maps caption"))
    wait_for(browser, lambda: shown(browser, "#direct p"))
    wait_for(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, "[aria-busy='true']"))


def shown(browser: webdriver.Chrome, selector: str) -> list[str]:
    # In one script: between two requests of Selenium the page may replace the elements.
    script = "return Array.from(document.querySelectorAll(arguments[0]), e => e.innerText.trim())"
    return browser.execute_script(script, selector)


def test_html_has_no_text_of_the_run_as_markup(service):
    html = web_page(service).html
    assert "<h1>&lt;run&gt;</h1>" in html
    assert "<run>" not in html
    assert not re.search(r"style=|\son\w+=|javascript:|https?:", html)


def test_every_field_has_a_label(service):
    html = web_page(service).html
    for field in re.findall(r"<(?:select|textarea)[^>]*>", html):
        identifier = re.search(r'id="(\w+)"', field)
        before = html[: html.index(field)]
        is_inside_label = before.rfind("<label") > before.rfind("</label>")
        assert is_inside_label or f'for="{identifier[1]}"' in html, field
    assert html.count('aria-live="polite"') == 2
    assert 'role="alert"' in html


@needs_browser
def test_text_is_translated_while_it_is_written(browser):
    select(browser, "source", "de")
    select(browser, "target", "en")
    write(browser, "Hund singt. Katze hier.")
    [translation] = shown(browser, "#direct p")
    assert translation.startswith("dog")
    assert shown(browser, "#direct-kind .mark") == ["supervised"]
    assert shown(browser, "#attention-maps caption") == ["Hund singt.", "Katze hier."]
    cells = "#attention-maps .scroll:first-child tbody td"
    assert len(browser.find_elements(By.CSS_SELECTOR, cells)) % 3 == 0
    browser.find_element(By.ID, "text").clear()
    browser.find_element(By.ID, "text").send_keys(" ")
    wait_for(browser, lambda: not shown(browser, "#direct p"))
    assert not shown(browser, "#attention-maps caption")
    assert browser.get_log("browser") == []


@needs_browser
def test_the_page_loads_only_its_own_files(browser, address):
    write(browser, "one dog")
    resources = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert len(resources) >= 4
    assert all(name.startswith(address) for name in resources)


@needs_browser
def test_zero_shot_pivot_and_list_of_the_best(browser):
    select(browser, "source", "de")
    select(browser, "target", "he")
    assert "Hebrew (he) †" in shown(browser, "select[name='target'] option")
    select(browser, "pivot", "en")
    select(browser, "count", "3")
    write(browser, "Hund singt")
    wait_for(browser, lambda: shown(browser, "#pivot-result p"))
    assert shown(browser, "#direct-kind .mark") == ["zero-shot"]
    assert shown(browser, "#pivot-title")[0].startswith("Through English (en)")
    assert shown(browser, "#pivot-result .between")[0].startswith("dog")
    hypotheses = shown(browser, "#direct li span:first-child")
    assert len(hypotheses) == 3
    assert hypotheses[0] == shown(browser, "#direct p")[0]
    scores = [float(text) for text in shown(browser, "#direct li .score")]
    assert scores == sorted(scores, reverse=True)
    [area] = browser.find_elements(By.CSS_SELECTOR, "#direct")
    assert area.get_dom_attribute("aria-live") == "polite"


@needs_browser
def test_languages_from_right_to_left(browser):
    select(browser, "source", "he")
    select(browser, "target", "en")
    write(browser, "כלב אדום")
    field = browser.find_element(By.ID, "text")
    assert (field.get_property("dir"), field.get_property("lang")) == ("rtl", "he")
    [table] = browser.find_elements(By.CSS_SELECTOR, "#attention-maps table")
    assert table.get_property("dir") == "rtl"
    pieces = table.find_elements(By.CSS_SELECTOR, "th.piece")
    assert pieces[0].location["x"] > pieces[1].location["x"]
    [translation] = browser.find_elements(By.CSS_SELECTOR, "#direct p")
    assert translation.get_property("dir") == "ltr"
    browser.find_element(By.ID, "swap").click()
    wait_for(browser, lambda: any("כלב" in text for text in shown(browser, "#direct p")))
    [translation] = browser.find_elements(By.CSS_SELECTOR, "#direct p")
    assert (translation.get_property("dir"), translation.get_property("lang")) == ("rtl", "he")
    assert translation.value_of_css_property("direction") == "rtl"


@needs_browser
def test_text_that_looks_like_html_is_text(browser):
    select(browser, "source", "en")
    write(browser, HTML_TEXT)
    assert shown(browser, "#attention-maps caption")[0].startswith("<img src=x")
    assert not browser.find_elements(By.CSS_SELECTOR, "img, b, script:not([src]):not([type])")
    assert browser.title == "<run> · Polyglot"
    assert browser.get_log("browser") == []


@needs_browser
def test_the_language_is_identified(browser):
    select(browser, "source", "auto")
    select(browser, "target", "he")
    write(browser, "ein roter Hund singt hier")
    wait_for(browser, lambda: "identified as German" in shown(browser, "#text-note")[0])
    assert shown(browser, "#direct-kind .mark") == ["zero-shot"]


@needs_browser
def test_errors_are_shown_and_leave_again(browser):
    browser.execute_script("data.characters = 5")
    write(browser, "one dog")
    long_text = "dog " * 3000
    browser.execute_script("text.value = arguments[0]; update()", long_text)
    wait_for(
        browser,
        lambda: (
            shown(browser, "[role='alert']")
            == ["q: found 12000 characters; a request may have 10000"]
        ),
    )
    write(browser, "one dog")
    wait_for(browser, lambda: shown(browser, "[role='alert']") == [""])
    browser.get_log("browser")  # the browser notes the status 400


@needs_browser
@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_the_page_fits_the_screen(device, browser):
    if device == "phone":
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        select(browser, "source", "de")
        select(browser, "target", "he")
        select(browser, "pivot", "en")
        select(browser, "count", "3")
        write(browser, "Hund singt hier. Zwei Katzen sehen ein Haus " + "x" * 80)
        wait_for(browser, lambda: shown(browser, "#pivot-result p"))
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= browser.execute_script("return innerWidth")
        ARTEFACTS.mkdir(exist_ok=True)
        browser.save_screenshot(str(ARTEFACTS / f"serve-{device}.png"))
        browser.find_element(By.ID, "theme").click()
        theme = browser.execute_script("return document.documentElement.dataset.theme")
        assert theme == "dark"
        browser.save_screenshot(str(ARTEFACTS / f"serve-{device}-dark.png"))
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
