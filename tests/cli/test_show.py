"""`polyglot show` and `polyglot fetch`."""

from __future__ import annotations

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from polyglot.config.loading import load_config
from polyglot.core import presets
from polyglot.data import download
from polyglot.runs.run import Run
from tests.cli.small_run import one_line


def test_show_lists_the_presets(polyglot):
    output = one_line(polyglot("show").output)
    for name in ("multi30k/paper", "with_copies", "attention_bridge"):
        assert name in output
    assert "references" not in output


@pytest.mark.parametrize("name", presets.names("configs"))
def test_shown_preset_configuration_is_equal_when_loaded(name, tmp_path, polyglot):
    result = polyglot("show", name)
    assert result.status == 0
    shown = tmp_path / "shown.yaml"
    shown.write_text(result.output, encoding="utf-8")
    assert load_config(shown) == load_config(name)


@pytest.mark.parametrize("name", ["runs/mine", "mine.yaml"])
def test_shown_configuration_of_the_user_is_equal_when_loaded(name, folder, polyglot):
    result = polyglot("show", name)
    assert result.status == 0
    Path("shown.yaml").write_text(result.output, encoding="utf-8")
    expected = Run.open(name).config if name == "runs/mine" else load_config(name)
    assert load_config("shown.yaml") == expected


OTHER_CATEGORIES = [category for category in presets.CATEGORIES if category != "configs"]


@pytest.mark.parametrize("category", OTHER_CATEGORIES)
def test_other_presets_are_shown_as_in_their_file(category, tmp_path, monkeypatch, polyglot):
    monkeypatch.chdir(tmp_path)
    for name in presets.names(category):
        text = presets.find(category, name).read_text(encoding="utf-8")
        assert polyglot("show", f"{category}/{name}").output == text


@pytest.mark.parametrize("category", OTHER_CATEGORIES)
def test_name_of_a_preset_needs_no_category(category, tmp_path, monkeypatch, polyglot):
    monkeypatch.chdir(tmp_path)
    unique_names = sorted(set(presets.names(category)) - set(presets.names("configs")))
    for name in unique_names[:3]:
        text = presets.find(category, name).read_text(encoding="utf-8")
        assert polyglot("show", name).output == text


def test_show_names_other_presets_with_the_same_name(folder, polyglot):
    result = polyglot("show", "phrasebook")
    assert result.output.startswith("languages:")
    assert (
        "phrasebook is also the name of a preset experiment: "
        "polyglot show evaluation/experiments/phrasebook"
    ) in result.errors
    assert polyglot("show", "configs/phrasebook").output == result.output


def test_unknown_name(folder, polyglot):
    message = polyglot.refuses("show", "with_copis")
    kinds = "configuration, schedule, protocol or experiment"
    assert f"no {kinds} named 'with_copis'. Did you mean 'with_copies'?" in message
    assert "Did you mean 'phrasebook'?" in polyglot.refuses("show", "phrasebok")
    message = polyglot.refuses("show", "runs")
    assert "runs: no run directory: it has no config.yaml" in message


class QuietHandler(SimpleHTTPRequestHandler):
    """Request handler without a log."""

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def served_file(tmp_path, monkeypatch):
    """The only file of the data set `some`, served on this machine."""
    content = b"x" * 1000
    path = tmp_path / "server" / "train.xx.gz"
    path.parent.mkdir()
    path.write_bytes(content)
    remote_file = download.RemoteFile(
        path.name, size=len(content), sha256=hashlib.sha256(content).hexdigest()
    )
    handler = partial(QuietHandler, directory=str(path.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        data_set = download.DataSet(
            name="some",
            title="Some text",
            licence="None at all",
            citation="Nobody",
            base_url=f"http://127.0.0.1:{server.server_port}",
            files=(remote_file,),
        )
        monkeypatch.setattr(download, "data_sets", lambda: {"some": data_set})
        monkeypatch.chdir(tmp_path)
        yield path
        server.shutdown()


def test_fetch_shows_the_licence_and_verifies_checksums(served_file, polyglot):
    result = polyglot("fetch", "some", "target")
    assert result.status == 0
    assert Path("target/train.xx.gz").stat().st_size == 1000
    assert "licence: None at all" in result.errors
    assert "1 file in target, checksums verified" in result.errors

    served_file.write_bytes(b"y" * 1000)
    result = polyglot("fetch", "some", "elsewhere")
    assert result.status == 2
    assert "expected" in result.errors
    assert not Path("elsewhere/train.xx.gz").exists()


def test_fetch_of_an_unknown_data_set(served_file, polyglot):
    message = polyglot.refuses("fetch", "som", "target")
    assert "no data set named 'som'. Did you mean 'some'?" in message
