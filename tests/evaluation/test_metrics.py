"""Our scores are sacreBLEU's, to the last digit, and carry its signature."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import pytest

from polyglot.core.errors import ConfigError
from polyglot.evaluation.measures import CONDITIONS, Measure
from polyglot.evaluation.metrics import METRICS, TOKENIZER_LANGUAGES, Scorer, default_tokenizer

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
def test_equal_to_the_sacrebleu_command_line(
    measure: str, target: str, tokenizer: str | None, options: list[str], tmp_path: Path
) -> None:
    """On the text as the condition has it."""
    scorer = Scorer(Measure.parse(measure), target=target, tokenizer=tokenizer)
    metric = measure.partition("-")[0].removesuffix("++")
    theirs = command_line(
        tmp_path, scorer.prepare(REFERENCES), scorer.prepare(HYPOTHESES), "-m", metric, *options
    )
    ours = scorer.score(HYPOTHESES, REFERENCES)
    assert 0 < ours.value < 100
    assert (round(ours.value, 14), ours.signature) == (theirs["score"], theirs["signature"])
    assert Measure.parse(measure).title.partition(" (")[0] == theirs["name"]


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf"])
def test_intervals_are_those_of_the_command_line(metric: str, tmp_path: Path) -> None:
    ours = Scorer(Measure(metric, "lowercased"), target="de").score(
        HYPOTHESES, REFERENCES, resamples=50
    )
    options = [
        "-m",
        metric,
        *(["-lc"] if metric == "bleu" else ["--chrf-lowercase"] if metric == "chrf" else []),
        "--confidence",
        "--confidence-n",
        "50",
    ]
    theirs = command_line(tmp_path, REFERENCES, HYPOTHESES, *options)
    assert (round(ours.value, 14), round(ours.mean, 14), round(ours.interval, 14)) == tuple(
        theirs[key] for key in ("score", "confidence_mean", "confidence_var")
    )
    assert (
        ours.signature
        == Scorer(Measure(metric, "lowercased"), target="de")
        .score(HYPOTHESES, REFERENCES)
        .signature
    )


@pytest.mark.parametrize("metric", METRICS)
def test_a_text_of_which_hardly_anything_is_right_has_an_interval_too(metric: str) -> None:
    """Some resamples have nothing right at all."""
    found = Scorer(Measure(metric, "cased"), target="de").score(
        ["zz"] * 59 + REFERENCES[:1], ["Es regnet."] * 59 + REFERENCES[:1], resamples=100
    )
    assert found.mean >= 0 and found.interval > 0


def command_line(folder: Path, references: list[str], hypotheses: list[str], *options: str) -> dict:
    for name, lines in {"references": references, "hypotheses": hypotheses}.items():
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        "references",
        "-i",
        "hypotheses",
        "-w",
        "14",
        "-f",
        "json",
        *options,
    ]
    return json.loads(
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    )


def test_the_conditions_do_to_text_what_they_say() -> None:
    text = ["Der Hund schläft „hier“."]
    assert (
        CONDITIONS["cased"].preparation("de")(text)
        == CONDITIONS["lowercased"].preparation("de")(text)
        == text
    )
    assert CONDITIONS["tokenised"].preparation("de")(text) == ["der hund schläft „ hier “ ."]
    assert CONDITIONS["paper"].preparation("de")(text) == ['der hund schläft " hier " .']


@pytest.mark.parametrize("name", ["bleu", "chrf++", "ter-paper", "bleu-tokenised"])
def test_a_measure_is_read_as_it_is_written(name: str) -> None:
    assert str(Measure.parse(name)) == name


def test_the_signature_says_how_it_was_scored() -> None:
    def signature(condition: str = "cased", tokenizer: str | None = None) -> str:
        return (
            Scorer(Measure("bleu", condition), target="zh", tokenizer=tokenizer)
            .score(["一 只 狗"], ["一只狗"])
            .signature
        )

    assert "case:mixed" in signature() and "tok:zh" in signature()
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
def test_the_tokenizer_follows_the_target(language: str, tokenizer: str) -> None:
    assert default_tokenizer(language) == tokenizer
    assert tokenizer in {"13a", *TOKENIZER_LANGUAGES}


def test_a_tokenizer_that_is_not_installed_is_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacking(**settings: object) -> None:
        raise RuntimeError(
            "\nJapanese tokenization requires extra dependencies.\n\n    pip install sacrebleu[ja]\n"
        )

    monkeypatch.setitem(METRICS, "bleu", lacking)
    with pytest.raises(ConfigError) as caught:
        Scorer(Measure("bleu"), target="ja")
    assert str(caught.value) == (
        "bleu into ja: the tokenizer 'ja-mecab' cannot be used: Japanese tokenization requires extra dependencies. "
        "pip install sacrebleu[ja]; or set another, such as tokenizer: char"
    )


def test_a_tokenizer_whose_model_cannot_be_downloaded_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def offline(**settings: object) -> None:
        raise URLError(OSError(-2, "Name or service not known"))

    monkeypatch.setitem(METRICS, "bleu", offline)
    with pytest.raises(ConfigError) as caught:
        Scorer(Measure("bleu"), target="fr", tokenizer="flores200")
    assert str(caught.value) == (
        "bleu into fr: the tokenizer 'flores200' cannot be used: sacreBLEU downloads its model at the first use, and that failed: "
        "[Errno -2] Name or service not known; or set another, such as tokenizer: char"
    )


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_a_perfect_translation_has_the_best_score_and_an_empty_one_the_worst(metric: str) -> None:
    scorer = Scorer(Measure(metric), target="de")
    best, worst = (0, 100) if Measure(metric).lower_is_better else (100, 0)
    assert scorer.score(REFERENCES, REFERENCES).value == pytest.approx(best)
    assert scorer.score([""] * len(REFERENCES), REFERENCES).value == worst
