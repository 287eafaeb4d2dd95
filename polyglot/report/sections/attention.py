"""Section with the attention of the bridge: how each row mixes the pieces of some sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from polyglot.core.errors import CheckpointError
from polyglot.inference.translator import Translator
from polyglot.report.files import RunFiles, StoredEvaluation, cell_languages
from polyglot.report.section import Section, render

TITLE = "Heads of the bridge"

SENTENCES = 2  # of each language, if the user names none
MAX_SENTENCES = 40  # of all languages; with many languages, each of the first ones has one
MIN_WORDS = 4
MAX_WORDS = 12
MAX_PIECES = 24  # so that the table fits on a screen


def attention(files: RunFiles) -> Section | None:
    """Make the section.

    Raises ConfigError and DataError for a sentence in a language without encoder.
    """
    sentences = list(files.sentences)
    if not sentences and files.main_evaluation is not None:
        sentences = _test_sentences(files.main_evaluation)
    try:
        translator = Translator.load(files.run)
    except CheckpointError as error:
        if not sentences:
            return None
        reason = f"The parameters cannot be read: {error}"
        return Section("attention", TITLE, render("nothing.html", reason=reason))

    maps = []
    for language, sentence in sentences:
        attention_map = weights(translator, language, sentence, chosen=bool(files.sentences))
        if attention_map is not None:
            maps.append(attention_map)
    if not maps:
        return None
    body = render("attention.html", maps=maps, left_out=_left_out(files, maps))
    return Section("attention", TITLE, body)


def _left_out(files: RunFiles, maps: Sequence[dict[str, Any]]) -> bool:
    """True if test sentences of some source languages are not shown, since there are too many."""
    sources = {pair.source for pair in files.run.config.pairs}
    return not files.sentences and len(sources) > MAX_SENTENCES <= len(maps)


def weights(
    translator: Translator,
    language: str,
    sentence: str,
    *,
    chosen: bool,
) -> dict[str, Any] | None:
    """Pieces of a sentence and the attention of each head to them.

    chosen: the user named the sentence; otherwise long sentences are skipped.
    Returns None for a bridge without heads, and for an empty or skipped sentence.
    """
    language = translator.resolve(language, translator.targets[0]).source
    ids = translator.encode_text([sentence], language)[0]
    is_skipped = len(ids) > MAX_PIECES and not chosen
    if not ids or is_skipped:
        return None

    tokens = torch.tensor([ids], device=translator.device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    with torch.inference_mode():
        memory = translator.model.encode(language, tokens, mask)
    if memory.weights is None:
        return None
    vocabulary = translator.vocabularies[language]
    head_weights = memory.weights[0].float().cpu()
    return {
        "language": language,
        "sentence": sentence,
        "pieces": vocabulary.pieces(ids),
        "heads": head_weights.tolist(),
    }


def _test_sentences(evaluation: StoredEvaluation) -> list[tuple[str, str]]:
    """First sentences of medium length of each source language, at most MAX_SENTENCES."""
    texts: dict[str, str] = {}
    for cell in evaluation.cells:
        if cell["scores"]:
            source, _ = cell_languages(cell)
            texts.setdefault(source, cell["source_text"])

    count = SENTENCES if SENTENCES * len(texts) <= MAX_SENTENCES else 1
    sentences = []
    for language, name in texts.items():
        lines = [line for line in evaluation.text(name) if _has_medium_length(line)]
        for line in lines[:count]:
            sentences.append((language, line))
    return sentences[:MAX_SENTENCES]


def _has_medium_length(line: str) -> bool:
    words = len(line.split())
    return MIN_WORDS <= words <= MAX_WORDS
