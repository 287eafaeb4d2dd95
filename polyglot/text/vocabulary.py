"""The vocabulary of one language: a SentencePiece model with `<pad>`, `<s>`, `</s>` and `<unk>` as its first four pieces."""

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
from polyglot.core.registry import ComponentConfig
from polyglot.tasks.batch import BOS, EOS, PAD, SPECIAL_TOKENS, UNK

LONGEST_LINE = (
    1 << 16
)  # bytes; SentencePiece leaves longer lines out of its training, and its own default of 4192 is short
WHOLE_TIMES = 1000  # as often a word counts that a vocabulary of words shall have: no word of its size is as rare in usual text
THREADS = 4  # fixed, not the machine's number: sums of floats depend on how the text is divided


class VocabularyConfig(ComponentConfig):
    """How the vocabulary of a language is learnt from its text."""

    type: Literal["unigram", "bpe", "word", "char"] = "unigram"
    """`unigram` (Kudo 2018) and `bpe` (Sennrich et al. 2016) learn pieces of words; `word` is what stands between spaces."""

    size: int = Field(default=8000, gt=len(SPECIAL_TOKENS), le=1_000_000)
    """Number of pieces, the special ones included; `word` and `char` have fewer when the text does."""

    byte_fallback: bool = True
    """A character without a piece is spelt in bytes instead of becoming `<unk>`; costs 256 pieces, for `unigram` and `bpe` only."""

    character_coverage: float = Field(default=1.0, gt=0, le=1)
    """Share of the characters in the text that get a piece; 0.9995 is usual for Chinese or Japanese."""

    sentences: int = Field(default=2_000_000, ge=0)
    """The vocabulary is learnt from so many lines, drawn at random, when the text has more; 0 takes all."""


class Vocabulary:
    """Text to piece numbers and back.

    A run of spaces counts as one and spaces at the ends are dropped, and so is the difference between a space and `▁` (U+2581);
    every other character is kept as it is (no Unicode normalisation: that is a text step). With byte fallback
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
        whole: Sequence[str] = (),
    ) -> Vocabulary:
        """Learn a vocabulary; the same text, settings and seed give the same bytes.

        whole: pieces that it shall have whatever the text, and never take apart; `▁` begins those that are words.
        Raises ConfigError for a size that the text cannot fill or that does not hold its characters, DataError for no text at all.
        """
        pieces_of_words = config.type in ("unigram", "bpe")
        sentences = _sample(texts, config.sentences, seed=seed) if config.sentences else texts
        if (
            config.type == "word"
        ):  # where words are not taken apart, symbols of SentencePiece's kind would spoil their neighbours
            words = " ".join(piece[1:] for piece in whole if piece.startswith("▁"))
            sentences = chain(sentences, [words] * WHOLE_TIMES if words else [])
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                model_type=config.type,
                vocab_size=config.size,
                hard_vocab_limit=pieces_of_words,
                byte_fallback=config.byte_fallback and pieces_of_words,
                character_coverage=config.character_coverage,
                normalization_rule_name="identity",
                max_sentence_length=LONGEST_LINE,
                num_threads=THREADS,
                user_defined_symbols=[] if config.type == "word" else list(whole),
                minloglevel=2,
                unk_surface=" <unk>" if config.type == "word" else "<unk>",
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
            )
        except RuntimeError as error:
            raise _training_problem(str(error), config.size, language) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Raises CheckpointError when there is no vocabulary of ours at that path."""
        try:
            vocabulary = cls(path.read_bytes())
            specials = vocabulary.pieces([PAD, BOS, EOS, UNK])
        except OSError as error:
            raise CheckpointError(
                f"{path}: the vocabulary cannot be read: {error.strerror}"
            ) from None
        except (RuntimeError, IndexError):
            raise CheckpointError(
                f"{path}: no SentencePiece model; the file is damaged or something else"
            ) from None
        if tuple(specials) != SPECIAL_TOKENS:
            raise CheckpointError(
                f"{path}: the first pieces are {' '.join(specials)}; they must be {' '.join(SPECIAL_TOKENS)}"
            )
        return vocabulary

    def save(self, path: Path) -> None:
        """No reader ever sees half a vocabulary. Raises CheckpointError when it cannot be written."""
        replace_file(path, self._model)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Piece numbers of each text, without bos and eos."""
        return self._processor.encode(list(texts), out_type=int)

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Texts; pad, bos and eos are invisible, `<unk>` is shown."""
        return [
            text.strip(" ")
            for text in self._processor.decode(
                [[int(piece) for piece in sentence] for sentence in sentences]
            )
        ]

    def pieces(self, sentence: Sequence[int]) -> list[str]:
        return [self._processor.id_to_piece(int(piece)) for piece in sentence]

    def __len__(self) -> int:
        return len(self._processor)

    def __reduce__(self):
        return Vocabulary, (self._model,)


def _sample(texts: Iterable[str], count: int, *, seed: int) -> list[str]:
    """So many of the texts, each with the same chance (Vitter 1985, algorithm R); SentencePiece's own sampling ignores the seed."""
    random = Random(seed)
    kept: list[str] = []
    for number, text in enumerate(texts):
        if number < count:
            kept.append(text)
        elif (place := random.randrange(number + 1)) < count:
            kept[place] = text
    return kept


def _training_problem(message: str, size: int, language: str) -> ConfigError | DataError:
    """SentencePiece's words in ours."""
    if most := re.search(r"set it to a value <= (\d+)", message):
        return ConfigError(
            f"vocabulary.size: {size} pieces for {language} cannot be had from this text; at most {most[1]}"
        )
    if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ConfigError(
            f"vocabulary.size: {size} pieces for {language} do not hold the characters of this text; at least {least[1]}, "
            "or a lower character_coverage"
        )
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return DataError(f"no text to learn the vocabulary of {language} from")
    return DataError(f"the vocabulary of {language} cannot be learnt: {message}")
