"""Scores are those of sacreBLEU to the last digit, with its signature."""

from __future__ import annotations

from pathlib import Path
from urllib.error import URLError

import pytest

from polyglot.core.errors import ConfigError
from polyglot.evaluation.measures import CONDITIONS, Measure
from polyglot.evaluation.metrics import METRICS, TOKENIZER_LANGUAGES, Scorer, default_tokenizer
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


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [("de", "13a"), ("zho_Hant", "zh"), ("jpn", "ja-mecab"), ("ko", "ko-mecab"), ("my", "char")],
)
def test_the_tokenizer_depends_on_the_target(language: str, tokenizer: str) -> None:
    assert default_tokenizer(language) == tokenizer
    assert tokenizer in {"13a", *TOKENIZER_LANGUAGES}


def test_a_tokenizer_that_is_not_installed_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**settings: object) -> None:
        raise RuntimeError(
            "\nJapanese tokenization requires extra dependencies.\n\n"
            "    pip install sacrebleu[ja]\n"
        )

    monkeypatch.setitem(METRICS, "bleu", fail)
    with pytest.raises(ConfigError) as error_info:
        Scorer(Measure("bleu"), target="ja")
    assert str(error_info.value) == (
        "bleu into ja: the tokenizer 'ja-mecab' cannot be used: "
        "Japanese tokenization requires extra dependencies. "
        "pip install sacrebleu[ja]; or set another, such as tokenizer: char"
    )


def test_a_tokenizer_without_its_download_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**settings: object) -> None:
        raise URLError(OSError(-2, "Name or service not known"))

    monkeypatch.setitem(METRICS, "bleu", fail)
    with pytest.raises(ConfigError) as error_info:
        Scorer(Measure("bleu"), target="fr", tokenizer="flores200")
    assert str(error_info.value) == (
        "bleu into fr: the tokenizer 'flores200' cannot be used: "
        "sacreBLEU downloads its model at the first use, and that failed: "
        "[Errno -2] Name or service not known; or set another, such as tokenizer: char"
    )


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_a_perfect_translation_has_the_best_score_and_an_empty_one_the_worst(metric: str) -> None:
    scorer = Scorer(Measure(metric), target="de")
    best = 0 if Measure(metric).lower_is_better else 100
    worst = 100 - best
    assert scorer.score(REFERENCES, REFERENCES).value == pytest.approx(best)
    assert scorer.score([""] * len(REFERENCES), REFERENCES).value == worst
