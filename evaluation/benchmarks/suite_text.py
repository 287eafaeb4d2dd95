"""Text of the benchmarks: Multi30k, or the embedded phrasebook."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("en", "de", "fr", "cs")
SOURCE, TARGET = "en", "de"
TRAINING, TEST = "train", "test_2016_flickr"
PIECES = 8000
"""Pieces of each side, in the models that are compared with OpenNMT-py."""
FEW_PIECES = 400
"""The same for the phrasebook, which has fewer words."""
FULL_LINES = {TRAINING: 30_000, TEST: 1000}
QUICK_LINES = {TRAINING: 120, TEST: 2}
"""Sentences of each part; all of Multi30k, and as much of the phrasebook."""


@dataclass(frozen=True)
class Text:
    """Sentences in several languages, `train.en.gz` …, and English and German as pieces.

    folder: plain text, gzipped; pieces: `train.en`, `train.de`, `test.en`, `test.de`, where a space
    separates pieces; vocabulary_size: number of pieces of each side.
    """

    name: str
    folder: Path
    pieces: Path
    vocabulary_size: int

    @property
    def label(self) -> str:
        """Name of a folder for the models that are trained with this text."""
        return self.pieces.name.removesuffix("-pieces")

    @property
    def has_few_words(self) -> bool:
        """True if the vocabularies of the configurations are too large for this text."""
        return self.vocabulary_size == FEW_PIECES

    @property
    def test(self) -> Path:
        """Source sentences of the test text as pieces."""
        return self.pieces / f"test.{SOURCE}"

    @property
    def references(self) -> list[str]:
        """Target sentences of the test text, as plain text."""
        return read_gzip(self.folder / f"{TEST}.{TARGET}.gz")


def prepare_text(data: Path | None, work: Path, *, quick: bool) -> Text:
    """Return the text of a folder with Multi30k, or of the phrasebook, in a folder for its pieces.

    quick: only few lines. Text in the folder from an earlier start is used again.
    """
    name = "phrasebook" if data is None else "Multi30k"
    folder = data
    if quick or data is None:
        label = f"{name.lower()}-quick" if quick else name.lower()
        folder = work / "text" / label
        build_folder(folder, lambda new: write_text(data, new, quick=quick))
    pieces = work / "text" / f"{folder.name}-pieces"
    vocabulary_size = FEW_PIECES if quick or data is None else PIECES
    build_folder(pieces, lambda new: write_pieces(folder, new, vocabulary_size))
    words = f"{name}, few lines" if quick else name
    return Text(words, folder, pieces, vocabulary_size)


def build_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Write a folder unless it exists; an interrupted start leaves none that looks complete."""
    if folder.is_dir():
        return
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    write(new)
    new.rename(folder)


def write_text(data: Path | None, folder: Path, *, quick: bool) -> None:
    """Write the phrasebook, or the first lines of Multi30k, as files of Multi30k."""
    counts = QUICK_LINES if quick else FULL_LINES
    texts = phrasebook_text(counts) if data is None else read_text(data)
    for (part, language), lines in texts.items():
        write_gzip(folder / f"{part}.{language}.gz", lines[: counts[part]])


def read_text(data: Path) -> dict[tuple[str, str], list[str]]:
    texts = {}
    for part in (TRAINING, TEST):
        for language in LANGUAGES:
            texts[part, language] = read_gzip(data / f"{part}.{language}.gz")
    return texts


def phrasebook_text(counts: Mapping[str, int]) -> dict[tuple[str, str], list[str]]:
    from polyglot.phrasebook.corpus import splits

    sentences = splits(seed=1, train=counts[TRAINING], valid=0, test=counts[TEST])
    texts = {}
    for part, split in ((TRAINING, "train"), (TEST, "test")):
        for language in LANGUAGES:
            texts[part, language] = [sentence.text(language) for sentence in sentences[split]]
    return texts


def write_pieces(text: Path, folder: Path, vocabulary_size: int) -> None:
    """Train a vocabulary for each side, and write training and test text as pieces."""
    for language in (SOURCE, TARGET):
        training = read_gzip(text / f"{TRAINING}.{language}.gz")
        processor = train_pieces(training, folder / f"{language}.model", vocabulary_size)
        test = read_gzip(text / f"{TEST}.{language}.gz")
        for name, lines in (("train", training), ("test", test)):
            pieces = [" ".join(words) for words in processor.encode(lines, out_type=str)]
            write_lines(folder / f"{name}.{language}", pieces)


def train_pieces(lines: Sequence[str], model_file: Path, vocabulary_size: int):
    """Train a SentencePiece model; return its processor."""
    import sentencepiece

    with model_file.open("wb") as model:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            vocab_size=vocabulary_size,
            model_type="bpe",
            character_coverage=1.0,
            minloglevel=2,
        )
    return sentencepiece.SentencePieceProcessor(model_file=str(model_file))


def join_pieces(line: str) -> str:
    """Return the text of a line of pieces."""
    return line.replace(" ", "").replace("▁", " ").strip()


def read_gzip(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def write_gzip(path: Path, lines: Iterable[str]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for line in lines:
            file.write(f"{line}\n")


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(f"{line}\n")
