"""Scores are those of sacreBLEU to the last digit, with its signature."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from urllib.error import URLError

import pytest

from polyglot.evaluation.measures import CONDITIONS, Measure
from polyglot.evaluation.metrics import METRICS, Scorer, fallback_messages
from polyglot.evaluation.sacrebleu_internals import paired_test
from polyglot.evaluation.tokenizers import default_tokenizer, find_tokenizer
from tests.evaluation.sacrebleu_command import run_sacrebleu

REFERENCES = [
    "Der Hund schläft im Garten .",
    "Die Katze sieht „zwei“ Vögel\u2028im Baum.",
    "Drei Kinder lesen, ein Buch!",
    "Ja.",
    "Es regnet seit gestern.",
]
HYPOTHESES = [
    "Der Hund schläft im garten .",
    "Eine Katze sieht zwei Vögel im Baum.",
    "Drei Kinder lesen ein Buch !  ",
    "",
    "Es regnet seit gestern.",
]


@pytest.mark.parametrize(
    ("measure", "target", "tokenizer", "options"),
    [
        ("bleu", "de", None, []),
        ("bleu-lowercased", "de", None, ["-lc"]),
        ("bleu", "zh_Hans", None, ["--tokenize", "zh"]),
        ("bleu", "th", None, ["--tokenize", "char"]),
        ("bleu", "de", "intl", ["--tokenize", "intl"]),
        ("bleu-tokenised", "de", None, ["-lc", "--tokenize", "none"]),
        ("bleu-paper", "de", None, ["-lc"]),
        ("chrf", "de", None, []),
        ("chrf-lowercased", "de", None, ["--chrf-lowercase"]),
        ("chrf++", "de", None, ["--chrf-word-order", "2"]),
        ("ter", "de", None, ["--ter-case-sensitive"]),
        ("ter-lowercased", "de", None, []),
    ],
)
def test_scores_are_those_of_the_sacrebleu_command_line(
    measure: str, target: str, tokenizer: str | None, options: list[str], tmp_path: Path
) -> None:
    """The command line gets the preprocessed text."""
    scorer = Scorer(Measure.parse(measure), target=target, tokenizer=tokenizer)
    metric = measure.partition("-")[0].removesuffix("++")
    expected = command_line(
        tmp_path, scorer.prepare(REFERENCES), scorer.prepare(HYPOTHESES), "-m", metric, *options
    )
    score = scorer.score(HYPOTHESES, REFERENCES)
    assert 0 < score.value < 100
    assert round(score.value, 14) == expected["score"]
    assert score.signature == expected["signature"]
    assert Measure.parse(measure).title.partition(" (")[0] == expected["name"]


LOWERCASE_OPTIONS = {"bleu": ["-lc"], "chrf": ["--chrf-lowercase"], "ter": []}


@pytest.mark.parametrize("resamples", [50, 80])
@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf"])
def test_intervals_are_those_of_the_command_line(
    metric: str, resamples: int, tmp_path: Path
) -> None:
    scorer = Scorer(Measure(metric, "lowercased"), target="de")
    score = scorer.score(HYPOTHESES, REFERENCES, resamples=resamples)
    options = ["-m", metric, *LOWERCASE_OPTIONS[metric]]
    options += ["--confidence", "--confidence-n", str(resamples)]
    expected = command_line(tmp_path, REFERENCES, HYPOTHESES, *options)
    assert round(score.value, 14) == expected["score"]
    assert round(score.mean, 14) == expected["confidence_mean"]
    assert round(score.interval, 14) == expected["confidence_var"]
    assert score.signature == scorer.score(HYPOTHESES, REFERENCES).signature


@pytest.mark.parametrize("metric", METRICS)
def test_a_text_with_almost_no_match_has_an_interval(metric: str) -> None:
    """Some resamples have no match at all."""
    scorer = Scorer(Measure(metric, "cased"), target="de")
    hypotheses = ["zz"] * 59 + REFERENCES[:1]
    references = ["Es regnet."] * 59 + REFERENCES[:1]
    score = scorer.score(hypotheses, references, resamples=100)
    assert score.mean >= 0
    assert score.interval > 0


def command_line(folder: Path, references: list[str], hypotheses: list[str], *options: str) -> dict:
    for name, lines in {"references": references, "hypotheses": hypotheses}.items():
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    return run_sacrebleu(folder, "references", "-i", "hypotheses", *options)


def test_each_condition_applies_its_steps() -> None:
    text = ["Der Hund schläft „hier“."]
    assert CONDITIONS["cased"].preparation("de")(text) == text
    assert CONDITIONS["lowercased"].preparation("de")(text) == text
    assert CONDITIONS["tokenised"].preparation("de")(text) == ["der hund schläft „ hier “ ."]
    assert CONDITIONS["paper"].preparation("de")(text) == ['der hund schläft " hier " .']


@pytest.mark.parametrize("name", ["bleu", "chrf++", "ter-paper", "bleu-tokenised"])
def test_the_name_of_a_measure_is_parsed(name: str) -> None:
    assert str(Measure.parse(name)) == name


def test_the_signature_has_case_and_tokenizer() -> None:
    def signature(condition: str = "cased", tokenizer: str | None = None) -> str:
        scorer = Scorer(Measure("bleu", condition), target="zh", tokenizer=tokenizer)
        return scorer.score(["一 只 狗"], ["一只狗"]).signature

    assert "case:mixed" in signature()
    assert "tok:zh" in signature()
    assert "case:lc" in signature("lowercased")
    assert "tok:char" in signature(tokenizer="char")


def test_an_explicit_tokenizer_takes_precedence_over_that_of_the_condition() -> None:
    def signature(tokenizer: str | None) -> str:
        scorer = Scorer(Measure("bleu", "tokenised"), target="de", tokenizer=tokenizer)
        return scorer.score(HYPOTHESES, REFERENCES).signature

    assert "tok:none" in signature(None)
    assert "tok:char" in signature("char")


@pytest.mark.parametrize("target", ["zh", "th"])
def test_a_condition_keeps_the_tokenizer_of_languages_without_spaces(target: str) -> None:
    scorer = Scorer(Measure("bleu", "tokenised"), target=target)
    signature = scorer.score(["一 只 狗"], ["一只狗"]).signature
    assert f"tok:{default_tokenizer(target)}" in signature


EDGE_CASES = {
    "empty references": (["a b", "c"], ["", ""]),
    "empty texts": (["", ""], ["", ""]),
    "some empty references": (["a b c", "a b c d e", "x"], ["", "a b c d e", ""]),
    "one line": (["a b c d"], ["a b c d"]),
    "one word": (["a"], ["a"]),
    "one wrong word": (["b"], ["a"]),
    "equal resamples": (["a b c d e"] * 5, ["a b c d f"] * 5),
    "spaces": ([" "], ["  "]),
}


@pytest.mark.parametrize("resamples", [0, 100])
@pytest.mark.parametrize("case", EDGE_CASES)
@pytest.mark.parametrize("metric", METRICS)
def test_unusual_texts_have_a_finite_score(metric: str, case: str, resamples: int) -> None:
    hypotheses, references = EDGE_CASES[case]
    scorer = Scorer(Measure(metric), target="de")
    score = scorer.score(hypotheses, references, resamples=resamples)
    assert isfinite(score.value)
    if resamples:
        assert isfinite(score.mean)
        assert isfinite(score.interval)


@pytest.mark.parametrize("test", ["bs", "ar"])
@pytest.mark.parametrize("case", EDGE_CASES)
@pytest.mark.parametrize("metric", METRICS)
def test_unusual_texts_can_be_compared(metric: str, case: str, test: str) -> None:
    hypotheses, references = EDGE_CASES[case]
    systems = {"baseline": [hypotheses], "same": [hypotheses], "other": [["x"] * len(hypotheses)]}
    scorer = Scorer(Measure(metric), target="de")
    p_values, _ = paired_test(
        systems, references, metric=scorer.metric, title=metric, test=test, samples=50
    )
    assert p_values[0] == 1
    assert 0 < p_values[1] <= 1


@pytest.mark.parametrize("tokenizer", ["ja-mecab", "ko-mecab", "flores200"])
def test_fallback_is_used_and_shown_in_the_signature(
    tokenizer: str, missing_tokenizers: None
) -> None:
    scorer = Scorer(Measure("bleu"), target="ja", tokenizer=tokenizer)
    score = scorer.score(["猫が好きです。"], ["猫が好きです。"])
    assert score.value == pytest.approx(100)
    assert "tok:char" in score.signature
    assert scorer.tokenizer.wanted == tokenizer


def test_fallback_is_reported_once_for_all_targets(missing_tokenizers: None) -> None:
    scorers = []
    for target in ("ja", "jpn_Jpan", "de"):
        for name in ("bleu", "bleu-lowercased", "chrf"):
            scorers.append(Scorer(Measure.parse(name), target=target))
    assert fallback_messages(scorers) == [
        "scores into ja, jpn_Jpan use the tokenizer 'char' in place of 'ja-mecab': "
        "not installed; pip install 'polyglot-nmt[ja]'"
    ]


@pytest.fixture
def missing_tokenizers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """sacreBLEU without its optional packages and downloads."""

    def bleu(tokenize: str) -> None:
        if tokenize == "flores200":
            raise URLError(OSError(-2, "Name or service not known"))
        if tokenize.endswith("mecab"):
            raise RuntimeError("extra dependencies")

    find_tokenizer.cache_clear()
    monkeypatch.setattr("polyglot.evaluation.tokenizers.BLEU", bleu)
    yield
    find_tokenizer.cache_clear()


@pytest.mark.parametrize(("target", "signature"), [("de", "tok:tercom"), ("th", "tok:char+tercom")])
def test_ter_counts_words_of_languages_without_spaces(target: str, signature: str) -> None:
    scorer = Scorer(Measure("ter"), target=target)
    score = scorer.score(["ผมชอบแมว"], ["ผมชอบหมา"])
    assert signature in score.signature.split("|")
    assert (score.value < 100) == (target == "th")


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_a_perfect_translation_has_the_best_score_and_an_empty_one_the_worst(metric: str) -> None:
    scorer = Scorer(Measure(metric), target="de")
    best = 0 if Measure(metric).lower_is_better else 100
    worst = 100 - best
    assert scorer.score(REFERENCES, REFERENCES).value == pytest.approx(best)
    assert scorer.score([""] * len(REFERENCES), REFERENCES).value == worst
