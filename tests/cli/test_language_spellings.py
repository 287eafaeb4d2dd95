"""A command understands other spellings of the languages of a run: `deu_Latn` for `de`."""

from __future__ import annotations

from pathlib import Path

import pytest

COMMANDS = {
    "translate": "translate runs/mine --from {de} --to {fr} train.de",
    "split sentences": "translate runs/mine --from {de} --to {fr} --split-sentences train.de",
    "several sources": "translate runs/mine --from {de}=train.de --from {en}=train.en --to {fr}",
    "embed": "embed runs/mine --language {de} --output vectors.jsonl train.de",
    "language column": "embed runs/mine --language-column 1 --output vectors.jsonl {de}.tsv",
    "similar": "similar runs/mine train.de train.fr --from {de} --to {fr}",
    "evaluate": "evaluate runs/mine --protocol {de}.yaml",
    "shortlist": "shortlist runs/mine {de}-{fr}",
    "heads": "analyse runs/mine heads --sentence {de}=Hund",
    "chart": "analyse runs/mine chart Hund --language {de}",
    "words": "analyse runs/mine words --language {de} --into {fr}",
}
RUN_NAMES = {"de": "de", "fr": "fr", "en": "en"}
OTHER_NAMES = {"de": "deu_Latn", "fr": "FRA", "en": "en_XX"}
OUTPUT_FILES = {
    "embed": "vectors.jsonl",
    "language column": "vectors.jsonl",
    "evaluate": "runs/mine/evaluation/{de}/hypotheses/de-en-fr.txt",
}


def write_files(names: dict[str, str]) -> None:
    """Write a file with a language column and a protocol with pivot translation."""
    german = names["de"]
    Path(f"{german}.tsv").write_text(f"{german}\tein Hund\n", encoding="utf-8")
    protocol = f"pairs: [{german}-{names['fr']}]\nmetrics: [chrf]\npivot: {names['en']}\n"
    Path(f"{german}.yaml").write_text(protocol, encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_gives_the_same_result_for_another_spelling(name, folder, polyglot):
    results = []
    for names in (RUN_NAMES, OTHER_NAMES):
        write_files(names)
        command = COMMANDS[name].format(**names)
        result = polyglot(*command.split())
        assert result.status == 0, result.errors
        content = ""
        if name in OUTPUT_FILES:
            content = Path(OUTPUT_FILES[name].format(**names)).read_text(encoding="utf-8")
        # Times of translation follow this word.
        output, _, _ = result.output.partition("Search")
        results.append((output, content))
    assert results[0] == results[1]


def test_a_new_language_has_partners_in_another_spelling(folder, polyglot):
    Path("train.nl").write_text(Path("train.de").read_text(encoding="utf-8"), encoding="utf-8")
    options = ("--with", "deu_Latn", "--dry-run", "data.folder=.")
    result = polyglot("add-language", "runs/mine", "nl", *options)
    assert result.status == 0, result.errors
    assert "nl-de" in result.output


def test_one_language_in_two_spellings_is_named_twice(folder, polyglot):
    sources = ("--from", "de=train.de", "--from", "deu=train.de")
    message = polyglot.refuses("translate", "runs/mine", *sources, "--to", "fr")
    assert "de and deu name a language twice" in message
