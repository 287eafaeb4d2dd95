"""Words and phrases with their heads, while a sentence is built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Word:
    """Word that becomes a token; `node` is the part of the meaning that it expresses."""

    text: str
    category: str
    node: str | None = None
    sense: str | None = None
    head: Word | None = None


@dataclass(slots=True)
class Phrase:
    """Words in order, and their head."""

    words: list[Word]
    head: Word


def join(head: Word | Phrase, *parts: Word | Phrase | None) -> Phrase:
    """Concatenate the parts (the head among them); their heads depend on the head."""
    top = head.head if isinstance(head, Phrase) else head
    words: list[Word] = []
    for part in parts:
        if part is None:
            continue
        if isinstance(part, Word):
            if part is not head:
                part.head = top
            words.append(part)
        else:
            if part is not head:
                part.head.head = top
            words += part.words
    return Phrase(words, top)


def punctuation(text: str) -> Word:
    return Word(text, "PUNCT")


def adposition(text: str, path: str) -> Word:
    return Word(text, "ADP", f"{path}.relation")


def fixed(pattern: str, path: str, sense: str) -> Phrase:
    """Fixed phrase such as `every/DET *day/NOUN`; the starred word is the head with the sense."""
    words = []
    for item in pattern.split():
        text, category = item.lstrip("*").rsplit("/", 1)
        starred = item.startswith("*")
        words.append(
            Word(
                text,
                category,
                path if starred else f"{path}.{category.lower()}",
                sense if starred else None,
            )
        )
    top = next(
        word for word, item in zip(words, pattern.split(), strict=True) if item.startswith("*")
    )
    return join(top, *words)
