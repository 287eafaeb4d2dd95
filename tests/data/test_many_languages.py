"""Work of many language pairs: what belongs to a language is done once for the language."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from polyglot.data.corpora import Corpora, TextCorpus
from polyglot.data.corpora.text import _file_text
from polyglot.training.dry_run import plan_training
from tests.builders.runs import WORDS, tiny_run


def test_pairs_of_a_corpus_are_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    pairs = TextCorpus.pairs
    read = _file_text

    def counted_pairs(corpus: TextCorpus) -> set:
        calls["pairs"] += 1
        return pairs(corpus)

    def counted_text(path: Path) -> object:
        calls[path.name] += 1
        return read(path)

    monkeypatch.setattr(TextCorpus, "pairs", counted_pairs)
    monkeypatch.setattr("polyglot.data.corpora.text._file_text", counted_text)
    config = tiny_run(tmp_path).config
    corpora = Corpora(config.data.train, folder=tmp_path, languages=config.languages)
    for pair in sorted(corpora.pairs()):
        corpora.parallel(pair)
    assert calls == {"pairs": 1, **{f"train.{language}": 1 for language in WORDS}}


def test_tasks_of_a_language_share_its_pieces(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, schedule={"pairs": ["*-*"]})
    datasets = plan_training(run.config).datasets
    texts = set()
    for dataset in datasets.values():
        [corpus] = dataset._corpora
        texts |= {id(corpus.source), id(corpus.target)}
    assert len(datasets) == 6
    assert len(texts) == 3
