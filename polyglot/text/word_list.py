"""Vocabulary of another program: a list of words, which are separated by spaces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.core.file_checks import read_regular_file
from polyglot.tasks.batch import SPECIAL_TOKENS, UNK
from polyglot.text.vocabulary import Vocabulary

HEAD = b"polyglot word list\n"
"""First bytes of the file; no SentencePiece model begins with them."""


class WordList:
    """Conversion between text and word numbers, with the interface of `Vocabulary`."""

    def __init__(self, words: Iterable[str]) -> None:
        """words: without the special tokens, which come first."""
        self._words = [*SPECIAL_TOKENS, *words]
        self._numbers = {word: number for number, word in enumerate(self._words)}
        self._content = HEAD + "\n".join(self._words[len(SPECIAL_TOKENS) :]).encode()
        self.sha256 = hashlib.sha256(self._content).hexdigest()

    def save(self, path: Path) -> None:
        """Write the file atomically. Raises CheckpointError if that fails."""
        replace_file(path, self._content)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Word numbers of each text, without BOS and EOS; other words are `<unk>`."""
        return [self._encode_text(text) for text in texts]

    def _encode_text(self, text: str) -> list[int]:
        words = filter(None, text.split(" "))
        return [self._numbers.get(word, UNK) for word in words]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Texts without PAD, BOS and EOS, but with `<unk>`."""
        return [" ".join(self._visible_words(sentence)) for sentence in sentences]

    def _visible_words(self, sentence: Sequence[int]) -> list[str]:
        numbers = map(int, sentence)
        return [self._words[number] for number in numbers if number >= UNK]

    def pieces(self, sentence: Sequence[int]) -> list[str]:
        return [self._words[int(number)] for number in sentence]

    def __len__(self) -> int:
        return len(self._words)

    def __reduce__(self):
        return WordList, (self._words[len(SPECIAL_TOKENS) :],)


def load_vocabulary(path: Path) -> Vocabulary | WordList:
    """Load a vocabulary of either kind. Raises CheckpointError if the file is neither."""
    try:
        content = read_regular_file(path)
    except OSError as error:
        raise CheckpointError(f"{path}: the vocabulary cannot be read: {error.strerror}") from None
    if not content.startswith(HEAD):
        return Vocabulary.load(path)
    try:
        return WordList(content[len(HEAD) :].decode().split("\n"))
    except UnicodeDecodeError:
        raise CheckpointError(f"{path}: the word list is damaged: it is not UTF-8") from None
