"""Our scores are sacreBLEU's, to the last digit, and carry its signature."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polyglot.errors import ConfigError
from polyglot.evaluate.scores import METRICS, TITLES, UNSPACED, Scorer, tokenizer_of

REFERENCES = ["Der Hund schläft im Garten .", "Die Katze sieht „zwei“ Vögel\u2028im Baum.", "Drei Kinder lesen, ein Buch!", "Ja.", "Es regnet seit gestern."]
HYPOTHESES = ["Der Hund schläft im garten .", "Eine Katze sieht zwei Vögel im Baum.", "Drei Kinder lesen ein Buch !  ", "", "Es regnet seit gestern."]


@pytest.mark.parametrize(
    ("metric", "target", "lowercase", "tokenizer", "options"),
    [
        ("bleu", "de", False, None, []),
        ("bleu", "de", True, None, ["-lc"]),
        ("bleu", "zh_Hans", False, None, ["--tokenize", "zh"]),
        ("bleu", "th", False, None, ["--tokenize", "char"]),
        ("bleu", "de", False, "intl", ["--tokenize", "intl"]),
        ("chrf", "de", False, None, []),
        ("chrf", "de", True, None, ["--chrf-lowercase"]),
    ],
)
def test_equal_to_the_sacrebleu_command_line(
    metric: str, target: str, lowercase: bool, tokenizer: str | None, options: list[str], tmp_path: Path
) -> None:
    files = {"references": REFERENCES, "hypotheses": HYPOTHESES}
    for name, lines in files.items():
        (tmp_path / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", "hypotheses", "-m", metric, "-w", "14", "-f", "json", *options]
    theirs = json.loads(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    ours = Scorer(metric, target=target, lowercase=lowercase, tokenizer=tokenizer).score(HYPOTHESES, REFERENCES)
    assert 0 < ours.value < 100
    assert round(ours.value, 14) == theirs["score"]
    assert ours.signature == theirs["signature"]
    assert TITLES[metric] == theirs["name"]


def test_the_signature_says_how_it_was_scored() -> None:
    def signature(**settings: object) -> str:
        return Scorer("bleu", target="zh", **settings).score(["一 只 狗"], ["一只狗"]).signature

    assert "case:mixed" in signature() and "tok:zh" in signature()
    assert "case:lc" in signature(lowercase=True)
    assert "tok:char" in signature(tokenizer="char")


@pytest.mark.parametrize(("language", "tokenizer"), [("de", "13a"), ("zho_Hant", "zh"), ("jpn", "ja-mecab"), ("ko", "ko-mecab"), ("my", "char")])
def test_the_tokenizer_follows_the_target(language: str, tokenizer: str) -> None:
    assert tokenizer_of(language) == tokenizer
    assert tokenizer in {"13a", *UNSPACED}


def test_a_tokenizer_that_is_not_installed_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(**settings: object) -> None:
        raise RuntimeError("\nJapanese tokenization requires extra dependencies.\n\n    pip install sacrebleu[ja]\n")

    monkeypatch.setitem(METRICS, "bleu", lacking)
    with pytest.raises(ConfigError) as caught:
        Scorer("bleu", target="ja")
    assert str(caught.value) == (
        "bleu into ja: the tokenizer 'ja-mecab' cannot be used: Japanese tokenization requires extra dependencies. "
        "pip install sacrebleu[ja]; or set another, such as tokenizer: char"
    )


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_a_perfect_translation_has_100_and_an_empty_one_0(metric: str) -> None:
    scorer = Scorer(metric, target="de")
    assert scorer.score(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert scorer.score([""] * len(REFERENCES), REFERENCES).value == 0
