"""Protocols: every shipped one is right, and every mistake is said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.decoding.base import SearchConfig
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.references import Reference, reference_files
from polyglot.tasks.pairs import LanguagePair

TRAINED = [LanguagePair.parse(pair) for pair in ("en-de", "de-en", "en-fr", "fr-en", "en-en")]
SHIPPED = sorted(path.stem for path in presets.folder("evaluation").glob("*.yaml"))


def translator(sources: str, targets: str) -> SimpleNamespace:
    def check(source: str, target: str) -> None:
        if source not in sources.split() or target not in targets.split():
            raise ConfigError(f"no components for {source}-{target}")

    return SimpleNamespace(sources=sources.split(), targets=targets.split(), check=check)


def pairs(settings: dict, sources: str = "en de fr", targets: str = "en de fr") -> list[str]:
    return list(
        map(
            str,
            Protocol.model_validate(settings).select_pairs(
                translator(sources, targets), ["en", "de", "fr"], TRAINED
            ),
        )
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_protocol_can_be_read(name: str) -> None:
    assert Protocol.load(name).metrics


def test_the_three_shipped_ones_are_what_they_are_called() -> None:
    assert set(SHIPPED) == {"default", "quick", "attention_bridge"}
    assert Protocol.load("default") == Protocol()
    assert Protocol.load("quick").search.beam == 1 and Protocol.load("quick").sentences == 200
    paper = Protocol.load("attention_bridge")
    assert (
        paper.conditions == ["paper", "tokenised", "cased"]
        and paper.search.beam == 5
        and "2016_flickr" in paper.test[0].path
    )
    assert Reference.load(paper.reference).copies


@pytest.mark.parametrize("name", sorted(reference_files()))
def test_every_reference_can_be_shown_beside_ours(name: str) -> None:
    reference = Reference.load(name)
    for pair in map(LanguagePair.parse, reference.scores):
        assert reference.kind_of(pair) == (
            "supervised" if str(pair) in reference.trained else "zero-shot"
        )


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "metrics: [bleu, chfr]\ncopied: true\nsentences: 0\nsearch: {beem: 3}\nreference: attention_brige_bilingual\n"
        "tokenizer: 13b\ntest: [{type: txt}]\n"
    )
    with pytest.raises(ConfigError) as caught:
        Protocol.load(str(path))
    text = str(caught.value)
    assert text.startswith(f"{path}: 7 problems")
    assert (
        "metrics: no metric named 'chfr'. Did you mean 'chrf'? Known: bleu, chrf, chrf++, comet, ter"
        in text
    )
    assert "copied: no key named 'copied'. Did you mean 'copies'?" in text
    assert "sentences: found 0; expected at least 1" in text
    assert "search.beem: no key named 'beem'. Did you mean 'beam'?" in text
    assert (
        "reference: no reference named 'attention_brige_bilingual'. Did you mean 'attention_bridge_bilingual'?"
        in text
    )
    assert "tokenizer: no tokenizer named '13b'. Did you mean '13a'?" in text
    assert "test.0.type: no type named 'txt'. Did you mean 'text'?" in text


def test_an_unknown_protocol_names_a_near_one() -> None:
    with pytest.raises(
        ConfigError, match="no evaluation protocol named 'quik'. Did you mean 'quick'?"
    ):
        Protocol.load("quik")


def test_every_pair_and_copy_by_default() -> None:
    assert pairs({}) == "en-en en-de en-fr de-en de-de de-fr fr-en fr-de fr-fr".split()
    assert pairs({"copies": False}) == "en-de en-fr de-en de-fr fr-en fr-de".split()


def test_only_what_the_run_has_components_for() -> None:
    assert pairs({}, sources="de fr", targets="en de") == "de-en de-de fr-en fr-de".split()
    assert pairs({"pairs": ["*-en"]}, sources="de", targets="en de") == ["de-en"]


def test_pairs_bring_the_copies_of_languages_that_they_read_and_write() -> None:
    assert pairs({"pairs": ["de-fr"]}) == ["de-fr"]
    assert pairs({"pairs": ["de-fr", "fr-de"]}) == "de-de de-fr fr-de fr-fr".split()
    assert pairs({"pairs": ["fr-fr"], "copies": False}) == ["fr-fr"]


def test_a_run_of_one_language_has_its_copy() -> None:
    assert list(map(str, Protocol().select_pairs(translator("en", "en"), ["en"], TRAINED))) == [
        "en-en"
    ]


def test_a_run_without_a_needed_component_is_an_error() -> None:
    owned = {"sources": "en de", "targets": "en de"}
    with pytest.raises(ConfigError, match="no components for de-fr"):
        pairs({"pairs": ["en-de", "de-fr"]}, **owned)
    with pytest.raises(ConfigError, match=r"components for none of fr-\*"):
        pairs({"pairs": ["fr-*"]}, **owned)


def test_search_is_the_run_s_but_for_what_differs() -> None:
    run = SearchConfig(beam=4, length_penalty=0.6, n_best=3)
    assert Protocol().effective_search(run) == SearchConfig(beam=4, length_penalty=0.6, n_best=1)
    greedy = Protocol.model_validate({"search": {"beam": 1}})
    assert greedy.effective_search(run) == SearchConfig(beam=1, length_penalty=0.6, n_best=1)


def test_more_hypotheses_than_the_beam_has_are_refused() -> None:
    many = Protocol.model_validate({"search": {"n_best": 9}})
    assert many.effective_search(SearchConfig(beam=9)).n_best == 1
    with pytest.raises(
        ConfigError, match="^search.n_best: 9 hypotheses cannot come from a beam of 5$"
    ):
        many.effective_search(SearchConfig(beam=5))


def test_a_word_names_a_kind_of_pair() -> None:
    assert pairs({"pairs": "zero_shot", "copies": False}) == ["de-fr", "fr-de"]
    assert pairs({"pairs": "supervised", "copies": False}) == "en-de en-fr de-en fr-en".split()
    assert pairs({"pairs": ["zero_shot", "en-de"]}) == "en-de de-de de-fr fr-de fr-fr".split()


def test_every_metric_is_measured_under_every_condition() -> None:
    given = {"metrics": ["bleu", "comet"], "conditions": ["paper", "cased"], "comet": "model.ckpt"}
    assert list(map(str, Protocol.model_validate(given).measures)) == [
        "bleu-paper",
        "bleu",
        "comet",
    ]
    assert list(map(str, Protocol.model_validate({**given, "conditions": ["paper"]}).measures)) == [
        "bleu-paper",
        "comet",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("metrics: [comet]", "comet: missing; the metric 'comet' needs the file of a model"),
        ("conditions: [papr]", "conditions: no condition named 'papr'. Did you mean 'paper'?"),
        ("test_sets: {../x: []}", "'../x' will be the name of a folder"),
        (
            "reference: attention_bridge_bilingual\ntest_sets: {a: [phrasebook]}",
            "reference: a paper's table is of one test set",
        ),
        ("test: [phrasebook]\ntest_sets: {a: [phrasebook]}", "test_sets: `test` is set, too"),
    ],
)
def test_what_cannot_be_meant_is_said(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text + "\n")
    with pytest.raises(ConfigError) as caught:
        Protocol.load(str(tmp_path / "mine.yaml"))
    assert sentence in str(caught.value)
