"""The model card passes the checks of `huggingface_hub`, and says what the run says."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest
from huggingface_hub import ModelCard
from huggingface_hub.repocard import metadata_load

from polyglot.core.hub_address import HubAddress
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.publishing.card_metadata import card_metadata, language_metadata
from polyglot.publishing.model_card import CardScores, model_card
from polyglot.publishing.training_text import hub_data_sets, training_text_table
from polyglot.publishing.unknown_pieces import unknown_shares
from polyglot.runs.run import Run
from tests.builders.runs import tiny_run

ADDRESS = HubAddress("user/mine")


@pytest.fixture(scope="module")
def card_text(published) -> str:
    _, files, _ = published
    return files["README.md"].decode()


@pytest.fixture(scope="module")
def run(published) -> Run:
    folder, _, _ = published
    return Run.open(folder / "runs/mine")


@pytest.fixture(scope="module")
def matrix(run) -> ScoreMatrix:
    return ScoreMatrix.load(run.evaluation / "default")


def write_card(run: Run, matrices: list[ScoreMatrix] = (), **settings) -> str:
    scores = [CardScores("default", matrix, "matrix.png") for matrix in matrices]
    values = {"unknown_shares": {}, "checkpoint": "best checkpoint", "licence": None, **settings}
    return model_card(run, ADDRESS, scores=scores, **values)


def test_metadata(card_text, tmp_path):
    """`huggingface_hub` reads the metadata back as they were written."""
    data = ModelCard(card_text).data
    assert data.language == ["en", "de", "fr"]
    assert data.license == "cc-by-4.0"
    assert data.pipeline_tag == "translation"
    assert data.metrics == ["bleu", "chrf"]
    assert data.model_name == "mine"
    assert "translation" in data.tags
    assert str(ModelCard(card_text)).split("---\n")[2] == card_text.split("---\n")[2]
    (tmp_path / "README.md").write_text(card_text, encoding="utf-8")
    assert metadata_load(tmp_path / "README.md")["library_name"] == "polyglot-nmt"


def test_validation_of_the_hub(hub, card_text):
    ModelCard(card_text).validate()
    with pytest.raises(ValueError, match="ISO 639"):
        ModelCard(card_text.replace("- fr\n", "- fra_Latn\n", 1)).validate()


def test_results_are_those_of_the_matrix(card_text, matrix):
    results = ModelCard(card_text).data.eval_results
    expected = {}
    for pair, cell in matrix.cells.items():
        for measure in matrix.measures:
            value = round(cell.scores[str(measure)].value, 2)
            expected[str(pair), str(measure)] = (value, cell.kind)
    found = {}
    for result in results:
        kind = re.fullmatch(r"Translation \S+ \((.+)\)", result.task_name)[1]
        found[result.dataset_config, result.metric_type] = (result.metric_value, kind)
        assert result.task_type == "translation"
        assert result.metric_args["signature"][0].startswith(result.metric_name)
    assert found == expected


def test_page(card_text):
    assert "| `de` | German | source, target |" in card_text
    assert "| `fr` | French | target |" in card_text
    assert re.search(r"\| \*\*de\*\* \| [\d.]+ \| \([\d.]+\) \| [\d.]+† \|", card_text)
    assert "signature: `BLEU|nrefs:1|" in card_text
    assert "| text train.{language} | CC BY 2.0 |" in card_text
    assert "No text trained these zero-shot directions (†), so expect more errors: " in card_text
    assert "| kind | off-target | copied source |" in card_text
    assert "The model: `cc-by-4.0`." in card_text


def test_usage_works(card_text, hub_with_run, capsys):
    """The three lines of Python in the card translate."""
    [code] = re.findall(r"```python\n(.*?)```", card_text, re.DOTALL)
    assert len(code.strip().splitlines()) == 3
    lines = code.replace("…", "ein Hund schläft").strip().splitlines()
    names = {}
    exec("\n".join(lines[:2]), names)  # noqa: S102
    [translation] = eval(lines[2], names)
    assert isinstance(translation, str)
    assert not any("decoder.fr" in name for name in hub_with_run.take_downloads())


def test_picture(published, card_text):
    _, files, _ = published
    [picture] = re.findall(r"!\[.*?\]\((.*?)\)", card_text)
    content = files[picture]
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 0 and height > 0


@pytest.mark.parametrize(
    ("bridge", "text"),
    [
        ("none", "and no bridge between them."),
        ({"type": "mean"}, "and a shared bridge (mean) between them."),
    ],
)
def test_summary_names_the_bridge(bridge, text, card_text, tmp_path):
    assert "and a shared attention bridge between them." in card_text
    run = tiny_run(tmp_path, model={"bridge": bridge}, sharing={"encoder": {"all": ["de", "en"]}})
    card = write_card(run)
    assert text in card
    assert "Some languages share components." in card
    assert "Some languages share components." not in card_text


def test_without_scores(run):
    text = write_card(run)
    assert ModelCard(text).data.eval_results is None
    assert "This checkpoint has not been evaluated." in text
    assert "The share of unknown pieces was not measured." in text
    assert "No licence is named for the model." in text
    assert "license" not in text.split("---")[1]


def test_directions_with_wrong_languages_are_named(run, matrix):
    pair = next(pair for pair, cell in matrix.cells.items() if cell.kind == "zero-shot")
    cell = matrix.cells[pair]
    outputs = replace(cell.outputs, off_target=0.345)
    cells = {**matrix.cells, pair: replace(cell, outputs=outputs)}
    text = write_card(run, [replace(matrix, cells=cells)])
    assert f"Many outputs are in a wrong language (off-target): {pair} 34.5 %." in text
    assert "Many outputs" not in write_card(run, [matrix])


def test_share_of_unknown_pieces(run, matrix):
    assert set(unknown_shares(run, [matrix]).values()) == {0.0}, "the test text is training text"
    texts = {}
    for name in matrix.texts:
        texts[name] = ["Ein Hund", "Ein blorb"] if name.startswith("de") else ["a dog"]
    assert unknown_shares(run, [replace(matrix, texts=texts)]) == {"en": 0.0, "de": 0.25}
    assert unknown_shares(run, [replace(matrix, texts={})]) == {}


def test_unknown_pieces(run):
    text = write_card(run, unknown_shares={"de": 0.0123, "en": 0.001})
    assert re.search(r"\| `de` \| German \| source, target \| \d+ \| 1.23 % \|", text)
    assert "The highest share in the test text is 1.23 %, in de." in text


def test_large_matrix_lists_means(run, matrix, monkeypatch):
    monkeypatch.setattr("polyglot.publishing.card_metadata.MOST_DIRECTIONS", 2)
    monkeypatch.setattr("polyglot.publishing.model_card.LARGEST_TABLE", 2)
    text = write_card(run, [matrix])
    results = ModelCard(text).data.eval_results
    names = {result.dataset_config for result in results}
    assert names == {f"mean of {kind} directions" for kind in ("supervised", "zero-shot", "copy")}
    assert "from ↓ into →" not in text
    assert "| supervised |" in text


def test_languages_that_the_hub_does_not_know():
    codes, tags = language_metadata(["deu_Latn", "pt_BR", "zh_Hant", "elvish", "hsb"])
    assert codes == ["de", "pt", "zh", "hsb"]
    assert tags == ["zh-Hant"]


def test_no_language_is_known(tmp_path):
    run = SimpleNamespace(
        config=SimpleNamespace(languages=["elvish"], data=SimpleNamespace(train=[]))
    )
    metadata = card_metadata(run, [], name="mine", licence=None)
    assert "language" not in metadata.to_dict()


def test_text_of_others_is_escaped(tmp_path):
    data = {"train": [{"type": "text", "path": "train.{language}", "licence": "<b>|[x](y)"}]}
    run = tiny_run(tmp_path, data=data)
    table = training_text_table(run.config.data.train)
    assert "\\<b\\>\\|\\[x\\](y)" in table


def test_data_sets_of_the_hub_are_metadata():
    from polyglot.data.corpora import CORPORA

    corpora = [
        CORPORA.get("hub").Config(name="Helsinki-NLP/opus-100", config="de-en"),
        CORPORA.get("hub").Config(name="Helsinki-NLP/opus-100", config="en-fr"),
        CORPORA.get("text").Config(path="train.{language}"),
    ]
    assert hub_data_sets(corpora) == ["Helsinki-NLP/opus-100"]


def test_a_licence_changes_neither_the_text_nor_its_description():
    """So cached text and cached scores stay valid when a licence is added."""
    from polyglot.data.corpora import CORPORA
    from polyglot.evaluation.provenance import describe_corpus

    plain = CORPORA.get("text").Config(path="train.{language}")
    licensed = CORPORA.get("text").Config(path="train.{language}", licence="CC BY 2.0")
    assert licensed.text_settings() == plain.text_settings()
    assert describe_corpus(licensed) == describe_corpus(plain)
