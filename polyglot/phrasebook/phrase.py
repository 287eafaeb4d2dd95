"""Words while a sentence is being built: whoever joins words in order also says which of them is the head."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Word:
    """One word on its way to becoming a token; `node` is the part of the meaning it expresses."""

    text: str
    category: str
    node: str | None = None
    sense: str | None = None
    head: Word | None = None


@dataclass(slots=True)
class Phrase:
    """Words in their order, and the one on which the others depend."""

    words: list[Word]
    head: Word


def join(head: Word | Phrase, *parts: Word | Phrase | None) -> Phrase:
    """Put the parts in the given order (the head among them) and make their heads depend on the head."""
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
    """A ready phrase such as `every/DET *day/NOUN`; the starred word is its head and carries the sense."""
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
