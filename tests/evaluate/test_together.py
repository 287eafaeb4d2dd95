"""Many directions at once give what each gives by itself, in whatever portions and batches."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny import TEXT, tiny_run, tiny_translator

from polyglot import inference
from polyglot.decoding.search import SearchConfig
from polyglot.evaluate import together
from polyglot.evaluate.together import Source, translate_together

TEXTS = {
    "en": Source("en", ["", *TEXT["en"], "a dog"]),
    "de": Source("de", [*TEXT["de"], "  ", *reversed(TEXT["de"])]),
    "more": Source("de", ["ein Hund sieht einen Vogel", "es"]),
}
WANTED = [("en", "de"), ("en", "fr"), ("de", "fr"), ("de", "en"), ("more", "fr")]


@pytest.mark.parametrize("bridge", ["attention", "none"])  # the second has as many rows as a sentence has pieces
@pytest.mark.parametrize(("portion", "batch"), [(4096, 1280), (5, 4), (1, 1)])
@pytest.mark.parametrize("beam", [1, 3])
def test_each_direction_is_as_if_it_were_alone(bridge: str, portion: int, batch: int, beam: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = tiny_translator(tiny_run(tmp_path, model={"bridge": {"type": bridge}}))
    alone = {(text, target): translator.translate(TEXTS[text].lines, source=TEXTS[text].language, target=target, beam=beam) for text, target in WANTED}
    assert len({line for lines in alone.values() for line in lines}) > 8, "nothing could be taken for another"
    monkeypatch.setattr(together, "READ", portion)
    monkeypatch.setattr(inference, "ROWS", batch)
    told: dict[str, int] = {}

    def advance(target: str, sentences: int) -> None:
        told[target] = told.get(target, 0) + sentences

    found = list(translate_together(translator, TEXTS, WANTED, config=SearchConfig(beam=beam), advance=advance))
    assert {direction: lines for direction, lines, _ in found} == alone and len(found) == len(WANTED)
    assert told == {"de": 7, "fr": 20, "en": 11} and all(seconds > 0 for *_, seconds in found)


def test_a_text_is_read_once_whatever_its_targets(tmp_path: Path) -> None:
    translator = tiny_translator(tiny_run(tmp_path))
    read, calls, write, targets = translator.read, [], translator.write, []
    translator.read = lambda pieces, source: calls.append((source, len(pieces))) or read(pieces, source)
    translator.write = lambda memory, lengths, target, **given: targets.append((target, len(lengths))) or write(memory, lengths, target, **given)
    list(translate_together(translator, TEXTS, WANTED, config=SearchConfig(beam=1)))
    assert calls == [("de", 12), ("en", 6)] and targets == [("de", 6), ("fr", 18), ("en", 10)]
