"""Protocols: the shipped files are valid, selection of pairs, and messages for mistakes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.core.score_tables import METRIC_TITLES
from polyglot.decoding.base import SearchConfig
from polyglot.evaluation.protocol import Protocol, folder_name
from polyglot.evaluation.references import Reference, reference_files
from polyglot.tasks.pairs import LanguagePair

TRAINED = [LanguagePair.parse(pair) for pair in ("en-de", "de-en", "en-fr", "fr-en", "en-en")]
SHIPPED = sorted(path.stem for path in presets.folder("evaluation").glob("*.yaml"))


def protocol(**settings: object) -> Protocol:
    return Protocol.model_validate(settings)


def translator(sources: str, targets: str) -> SimpleNamespace:
    """Translator with encoders and decoders of these languages."""

    def resolve(source: str, target: str) -> LanguagePair:
        if source not in sources.split() or target not in targets.split():
            raise ConfigError(f"no components for {source}-{target}")
        return LanguagePair(source, target)

    return SimpleNamespace(sources=sources.split(), targets=targets.split(), resolve=resolve)


def select(settings: dict, *, sources: str = "en de fr", targets: str = "en de fr") -> list[str]:
    """Pairs that a protocol selects from a run in English, German and French."""
    pairs = protocol(**settings).select_pairs(
        translator(sources, targets), ["en", "de", "fr"], TRAINED
    )
    return [str(pair) for pair in pairs]


# Shipped files


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_protocol_is_valid(name: str) -> None:
    assert Protocol.load(name).metrics


def test_the_shipped_protocols_fit_their_names() -> None:
    assert set(SHIPPED) == {"default", "quick", "attention_bridge", "flickr_2017"}
    assert Protocol.load("default") == Protocol()
    quick = Protocol.load("quick")
    assert quick.search.beam == 1
    assert quick.sentences == 200
    paper = Protocol.load("attention_bridge")
    assert paper.conditions == ["paper", "tokenised", "cased"]
    assert paper.search.beam == 5
    assert "2016_flickr" in paper.test[0].path
    assert Reference.load(paper.reference).copies


@pytest.mark.parametrize("name", sorted(reference_files()))
def test_every_reference_has_the_kind_of_each_pair(name: str) -> None:
    reference = Reference.load(name)
    for pair in reference.scores:
        kind = "supervised" if pair in reference.trained else "zero-shot"
        assert reference.kind_of(LanguagePair.parse(pair)) == kind


def test_the_folder_has_the_name_of_the_protocol() -> None:
    assert folder_name("news") == "news"
    assert folder_name("protocols/news.yaml") == "news"


# Selection of pairs


def test_the_default_is_every_pair_and_copy() -> None:
    assert select({}) == "en-en en-de en-fr de-en de-de de-fr fr-en fr-de fr-fr".split()
    assert select({"copies": False}) == "en-de en-fr de-en de-fr fr-en fr-de".split()


def test_only_pairs_with_components_are_selected() -> None:
    pairs = select({}, sources="de fr", targets="en de")
    assert pairs == "de-en de-de fr-en fr-de".split()
    assert select({"pairs": ["*-en"]}, sources="de", targets="en de") == ["de-en"]


def test_copies_are_of_languages_that_are_source_and_target() -> None:
    assert select({"pairs": ["de-fr"]}) == ["de-fr"]
    assert select({"pairs": ["de-fr", "fr-de"]}) == "de-de de-fr fr-de fr-fr".split()
    assert select({"pairs": ["fr-fr"], "copies": False}) == ["fr-fr"]


def test_a_run_of_one_language_has_its_copy() -> None:
    pairs = Protocol().select_pairs(translator("en", "en"), ["en"], TRAINED)
    assert pairs == [LanguagePair("en", "en")]


def test_a_missing_component_is_an_error() -> None:
    components = {"sources": "en de", "targets": "en de"}
    with pytest.raises(ConfigError, match="no components for de-fr"):
        select({"pairs": ["en-de", "de-fr"]}, **components)
    with pytest.raises(ConfigError, match=r"components for none of fr-\*"):
        select({"pairs": ["fr-*"]}, **components)


def test_a_word_selects_a_kind_of_pairs() -> None:
    assert select({"pairs": "zero_shot", "copies": False}) == ["de-fr", "fr-de"]
    supervised = select({"pairs": "supervised", "copies": False})
    assert supervised == "en-de en-fr de-en fr-en".split()
    mixed = select({"pairs": ["zero_shot", "en-de"]})
    assert mixed == "en-de de-de de-fr fr-de fr-fr".split()


# Search and measures


def test_the_search_is_that_of_the_run_with_the_changes_of_the_protocol() -> None:
    run_search = SearchConfig(beam=4, length_penalty=0.6, n_best=3)
    search = Protocol().effective_search(run_search)
    assert search == SearchConfig(beam=4, length_penalty=0.6, n_best=1)
    greedy = protocol(search={"beam": 1}).effective_search(run_search)
    assert greedy == SearchConfig(beam=1, length_penalty=0.6, n_best=1)


def test_more_hypotheses_than_the_beam_has_are_an_error() -> None:
    nine_best = protocol(search={"n_best": 9})
    assert nine_best.effective_search(SearchConfig(beam=9)).n_best == 1
    message = "^search.n_best: 9 hypotheses cannot come from a beam of 5$"
    with pytest.raises(ConfigError, match=message):
        nine_best.effective_search(SearchConfig(beam=5))


@pytest.mark.parametrize(
    ("conditions", "measures"),
    [
        (["paper", "cased"], ["bleu-paper", "bleu", "comet"]),
        (["paper"], ["bleu-paper", "comet"]),
    ],
)
def test_every_metric_has_every_condition_except_comet(
    conditions: list[str], measures: list[str]
) -> None:
    settings = protocol(metrics=["bleu", "comet"], conditions=conditions, comet="model.ckpt")
    assert [str(measure) for measure in settings.measures] == measures


# Mistakes


def load_error(path: Path, content: str) -> str:
    """Message for a protocol file with this content."""
    path.write_text(content)
    with pytest.raises(ConfigError) as error_info:
        Protocol.load(str(path))
    return str(error_info.value)


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    message = load_error(
        path,
        "metrics: [bleu, chfr]\n"
        "copied: true\n"
        "sentences: 0\n"
        "search: {beem: 3}\n"
        "reference: attention_brige_bilingual\n"
        "tokenizer: 13b\n"
        "test: [{type: txt}]\n",
    )
    assert message.startswith(f"{path}: 7 problems")
    for problem in (
        "metrics: no metric named 'chfr'. Did you mean 'chrf'? "
        f"Known: {', '.join(sorted(METRIC_TITLES))}",
        "copied: no key named 'copied'. Did you mean 'copies'?",
        "sentences: found 0; expected at least 1",
        "search.beem: no key named 'beem'. Did you mean 'beam'?",
        "reference: no reference named 'attention_brige_bilingual'. "
        "Did you mean 'attention_bridge_bilingual'?",
        "tokenizer: no tokenizer named '13b'. Did you mean '13a'?",
        "test.0.type: no type named 'txt'. Did you mean 'text'?",
    ):
        assert problem in message


def test_an_unknown_protocol_suggests_a_similar_name() -> None:
    message = "no evaluation protocol named 'quik'. Did you mean 'quick'?"
    with pytest.raises(ConfigError, match=message):
        Protocol.load("quik")


@pytest.mark.parametrize(
    ("content", "problem"),
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
def test_invalid_settings_are_an_error(content: str, problem: str, tmp_path: Path) -> None:
    assert problem in load_error(tmp_path / "mine.yaml", f"{content}\n")


# Tokenizers


def test_tokenizer_of_a_target_language() -> None:
    settings = {"tokenizer": "13a", "tokenizers": {"ja": "char", "th": "13a"}}
    tokenizer_for = protocol(**settings).tokenizer_for
    assert tokenizer_for("de") == "13a"
    assert tokenizer_for("jpn_Jpan") == "char"
    assert tokenizer_for("th") == "13a"
    assert tokenizer_for("zh") is None  # 13a cannot separate its words
    assert protocol(tokenizer="flores200").tokenizer_for("zh") == "flores200"
    assert protocol().tokenizer_for("de") is None


def test_unknown_tokenizer_of_a_target_language_is_an_error() -> None:
    with pytest.raises(ValueError, match="no tokenizer named '13b'. Did you mean '13a'"):
        protocol(tokenizers={"ja": "13b"})


def test_score_of_a_paper_is_found_in_any_spelling() -> None:
    name = next(iter(reference_files()))
    reference = Reference.load(name)
    pair, score = next(iter(reference.scores.items()))
    source, target = pair.split("-")
    assert reference.score(LanguagePair.parse(pair)) == score
    assert reference.score(LanguagePair(source.upper(), f"{target}_Latn")) == score
    assert reference.score(LanguagePair("ja", target)) is None
