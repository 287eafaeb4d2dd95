"""A vocabulary that another program made: a list of what stands between spaces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.tasks.batch import SPECIAL_TOKENS, UNK
from polyglot.text.vocabulary import Vocabulary

HEAD = b"polyglot word list\n"
"""What its file begins with, which no SentencePiece model does."""


class WordList:
    """Text to word numbers and back, as `Vocabulary` does it; words are separated by spaces, and are as the list has them."""

    def __init__(self, words: Iterable[str]) -> None:
        """words: without the special ones, which come first"""
        self._words = [*SPECIAL_TOKENS, *words]
        self._numbers = {word: number for number, word in enumerate(self._words)}
        self._content = HEAD + "\n".join(self._words[len(SPECIAL_TOKENS) :]).encode()
        self.sha256 = hashlib.sha256(self._content).hexdigest()

    def save(self, path: Path) -> None:
        """Raises CheckpointError when it cannot be written."""
        replace_file(path, self._content)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Word numbers of each text, without bos and eos; what is not in the list is `<unk>`."""
        return [
            [self._numbers.get(word, UNK) for word in text.split(" ") if word] for text in texts
        ]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Texts; pad, bos and eos are invisible, `<unk>` is shown."""
        return [
            " ".join(self._words[int(number)] for number in sentence if int(number) >= UNK)
            for sentence in sentences
        ]

    def pieces(self, sentence: Sequence[int]) -> list[str]:
        return [self._words[int(number)] for number in sentence]

    def __len__(self) -> int:
        return len(self._words)

    def __reduce__(self):
        return WordList, (self._words[len(SPECIAL_TOKENS) :],)


def load_vocabulary(path: Path) -> Vocabulary | WordList:
    """Either kind, by what the file begins with. Raises CheckpointError when it is neither."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: the vocabulary cannot be read: {error.strerror}") from None
    if not content.startswith(HEAD):
        return Vocabulary.load(path)
    try:
        return WordList(content[len(HEAD) :].decode().split("\n"))
    except UnicodeDecodeError:
        raise CheckpointError(f"{path}: the word list is damaged: it is no UTF-8") from None
