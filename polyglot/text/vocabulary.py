"""Vocabulary of one language: a SentencePiece model; its first pieces are the special tokens."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Literal

import sentencepiece
from pydantic import Field

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.core.file_checks import read_regular_file
from polyglot.core.registry import ComponentConfig
from polyglot.tasks.batch import BOS, EOS, PAD, SPECIAL_TOKENS, UNK

LONGEST_LINE = 1 << 16
"""Bytes; SentencePiece skips longer lines in training, and its own default of 4192 is short."""
WHOLE_COUNT = 1000
"""Count of a required word in a `word` vocabulary: more than the rarest word of usual text has."""
THREADS = 4
"""Fixed, since sums of floats depend on the number of parts of the text."""


class VocabularyConfig(ComponentConfig):
    """Settings of a vocabulary that is trained on the text of its language."""

    used_with = {
        "limit": ("type", ("unigram", "bpe")),
        "byte_fallback": ("type", ("unigram", "bpe")),
    }

    type: Literal["unigram", "bpe", "word", "char"] = "unigram"
    """`unigram` (Kudo 2018), `bpe` (Sennrich et al. 2016), `word` (split at spaces) or `char`."""

    size: int = Field(default=8000, gt=len(SPECIAL_TOKENS), le=1_000_000)
    """Number of pieces with special tokens; `word` and `char` have fewer if the text has fewer."""

    limit: Literal["hard", "soft"] = "hard"
    """`hard`: a text with fewer possible pieces than `size` is an error. `soft`: the vocabulary is
    then smaller; for `unigram` and `bpe`."""

    byte_fallback: bool = True
    """Write unknown characters as bytes, not as `<unk>`; 256 pieces, `unigram` and `bpe` only."""

    character_coverage: float = Field(default=1.0, ge=0.98, le=1)
    """Share of the characters with a piece; 0.9995 is usual for Chinese and Japanese."""

    sentences: int = Field(default=2_000_000, ge=0, le=1_000_000_000)
    """Number of lines, drawn at random, that the vocabulary is trained on; 0 for all."""


class Vocabulary:
    """Conversion between text and piece numbers.

    Several spaces count as one, spaces at the ends are dropped, and `▁` (U+2581) is a space. Every
    other character is kept; Unicode normalisation is a text step. With byte fallback,
    `decode(encode(text))` is the text.
    """

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)
        self.sha256 = hashlib.sha256(model).hexdigest()

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        config: VocabularyConfig,
        *,
        language: str,
        seed: int,
        unsplit_pieces: Sequence[str] = (),
    ) -> Vocabulary:
        """Train a vocabulary; equal text, settings and seed give equal bytes.

        unsplit_pieces: pieces that are never split, even if the text lacks them; words begin with
        `▁`.
        Raises ConfigError for a size that is too large or too small for the text, DataError for
        empty text.
        """
        has_subwords = config.type in ("unigram", "bpe")
        sentences = _sample(texts, config.sentences, seed=seed) if config.sentences else texts
        if config.type == "word":
            # SentencePiece's own user-defined symbols would split their neighbours.
            words = " ".join(piece[1:] for piece in unsplit_pieces if piece.startswith("▁"))
            sentences = chain(sentences, [words] * WHOLE_COUNT if words else [])
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                model_type=config.type,
                vocab_size=config.size,
                hard_vocab_limit=has_subwords and config.limit == "hard",
                byte_fallback=config.byte_fallback and has_subwords,
                character_coverage=config.character_coverage,
                normalization_rule_name="identity",
                max_sentence_length=LONGEST_LINE,
                num_threads=THREADS,
                user_defined_symbols=[] if config.type == "word" else list(unsplit_pieces),
                minloglevel=2,
                unk_surface=" <unk>" if config.type == "word" else "<unk>",
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
            )
        except RuntimeError as error:
            raise _training_error(str(error), config.size, language) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Load a vocabulary. Raises CheckpointError if the file is not one of this program."""
        try:
            vocabulary = cls(read_regular_file(path))
            first_pieces = vocabulary.pieces([PAD, BOS, EOS, UNK])
        except OSError as error:
            raise CheckpointError(
                f"{path}: the vocabulary cannot be read: {error.strerror}"
            ) from None
        except (RuntimeError, IndexError):
            raise CheckpointError(
                f"{path}: not a SentencePiece model; the file is damaged or has another format"
            ) from None
        if tuple(first_pieces) != SPECIAL_TOKENS:
            raise CheckpointError(
                f"{path}: the first pieces are {' '.join(first_pieces)}; "
                f"they must be {' '.join(SPECIAL_TOKENS)}"
            )
        return vocabulary

    def save(self, path: Path) -> None:
        """Write the file atomically. Raises CheckpointError if that fails."""
        replace_file(path, self._model)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Piece numbers of each text, without BOS and EOS."""
        return self._processor.encode(list(texts), out_type=int)

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Texts without PAD, BOS and EOS, but with `<unk>`."""
        piece_lists = [list(map(int, sentence)) for sentence in sentences]
        return [text.strip(" ") for text in self._processor.decode(piece_lists)]

    def pieces(self, sentence: Sequence[int]) -> list[str]:
        return [self._processor.id_to_piece(int(piece)) for piece in sentence]

    def __len__(self) -> int:
        return len(self._processor)

    def __reduce__(self):
        return Vocabulary, (self._model,)


def _sample(texts: Iterable[str], count: int, *, seed: int) -> list[str]:
    """Draw `count` texts, each with the same probability (Vitter 1985, algorithm R).

    SentencePiece's own sampling ignores the seed.
    """
    random = Random(seed)
    sample: list[str] = []
    for number, text in enumerate(texts):
        if number < count:
            sample.append(text)
            continue
        place = random.randrange(number + 1)
        if place < count:
            sample[place] = text
    return sample


def _training_error(message: str, size: int, language: str) -> ConfigError | DataError:
    """Translate SentencePiece's error message."""
    too_large = re.search(r"set it to a value <= (\d+)", message)
    if too_large:
        return ConfigError(
            f"vocabulary.size: {size} pieces for {language} are too many for this text; "
            f"at most {too_large[1]}, or vocabulary.limit: soft"
        )
    too_small = re.search(r"smaller than required_chars\. \d+ vs (\d+)", message)
    if too_small:
        return ConfigError(
            f"vocabulary.size: {size} pieces for {language} are too few for the characters of "
            f"this text; at least {too_small[1]}, or a lower character_coverage"
        )
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return DataError(f"no text to train the vocabulary of {language} on")
    return DataError(f"cannot train the vocabulary of {language}: {message}")
