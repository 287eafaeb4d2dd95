"""Where the heads of the bridge look: for some sentences, how each row of the bridge is mixed from the pieces of the source."""

from __future__ import annotations

from typing import Any

import torch

from polyglot.core.errors import CheckpointError
from polyglot.inference.translator import Translator
from polyglot.report.files import Files
from polyglot.report.section import Section, render

EACH = 2  # sentences of each language when none are asked for
LONGEST = 24  # pieces, so that a picture can be taken in


def attention(files: Files) -> Section | None:
    """Raises ConfigError and DataError for a sentence in a language that the run does not read."""
    wanted = list(files.sentences) or _from_the_tests(files)
    try:
        translator = Translator.load(files.run)
    except CheckpointError as error:
        return (
            Section(
                "attention",
                "Heads of the bridge",
                render("nothing.html", reason=f"The parameters cannot be read: {error}"),
            )
            if wanted
            else None
        )
    maps = [
        found
        for language, sentence in wanted
        if (found := weights(translator, language, sentence, chosen=bool(files.sentences)))
    ]
    return (
        Section("attention", "Heads of the bridge", render("attention.html", maps=maps))
        if maps
        else None
    )


def weights(
    translator: Translator, language: str, sentence: str, *, chosen: bool
) -> dict[str, Any] | None:
    """Pieces and the share of each in every head; None for a bridge without heads, an empty or a long sentence that nobody asked for."""
    translator.check(language, translator.targets[0])
    ids = translator.encode_text([sentence], language)[0]
    if not ids or (len(ids) > LONGEST and not chosen):
        return None
    tokens = torch.tensor([ids], device=translator.device)
    with torch.inference_mode():
        memory = translator.model.encode(
            language, tokens, torch.ones_like(tokens, dtype=torch.bool)
        )
    if memory.weights is None:
        return None
    pieces = translator.vocabularies[language].pieces(ids)
    return {
        "language": language,
        "sentence": sentence,
        "pieces": pieces,
        "heads": memory.weights[0].float().cpu().tolist(),
    }


def _from_the_tests(files: Files) -> list[tuple[str, str]]:
    """The first sentences of the test text of each language, of middling length."""
    texts: dict[str, str] = {}
    for scored in files.scored[:1]:
        for cell in scored.cells:
            if cell["scores"]:
                texts.setdefault(cell["pair"].partition("-")[0], cell["source_text"])
        return [
            (language, line)
            for language, text in texts.items()
            for line in [
                line for line in scored.lines("text", text) if 4 <= len(line.split()) <= 12
            ][:EACH]
        ]
    return []
