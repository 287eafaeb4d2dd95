"""Commands `embed` and `similar`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion, parameters
from polyglot.cli.app import command, logger
from polyglot.cli.lines import read_lines
from polyglot.cli.parameters import (
    Checkpoint,
    Device,
    Layer,
    Pooling,
    RunPath,
    choice,
)
from polyglot.cli.progress import line_progress
from polyglot.core.errors import ConfigError, DataError, pluralize

if TYPE_CHECKING:
    from polyglot.inference.embeddings.encoder import SentenceChunk
    from polyglot.inference.translator import Translator

# The packages that define these choices load torch; a test compares the two.
PRECISIONS = ("float32", "float16", "int8")
MARGINS = ("ratio", "cosine")
SEARCHES = ("exact", "faiss")

InputFile = Annotated[
    Optional[Path],
    typer.Argument(
        metavar="FILE",
        help="One sentence per line, plain or compressed. Default: standard input.",
    ),
]
VectorFile = Annotated[
    Path,
    typer.Option(
        "--output",
        metavar="FILE",
        help="File for the vectors; its suffix is .npy, .parquet or .jsonl.",
    ),
]
Language = Annotated[
    Optional[str],
    typer.Option(
        metavar="LANGUAGE",
        help="Language of all sentences.",
        autocompletion=completion.languages,
    ),
]
LanguageColumn = Annotated[
    Optional[int],
    typer.Option(
        min=1,
        metavar="N",
        help="Read the language of each sentence from column N; tabs separate the columns.",
    ),
]
TextColumn = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Read the sentence from column N, with --language-column."
    ),
]
Precision = Annotated[str, choice(PRECISIONS, help="Number format of the vectors.")]
ComputePrecision = Annotated[
    str,
    choice(
        parameters.PRECISIONS,
        "--compute-precision",
        help="Precision of matrix products; auto is the fastest one of the processor or GPU.",
    ),
]
Normalize = Annotated[bool, typer.Option("--normalize", help="Scale each vector to length 1.")]
BatchSize = Annotated[
    Optional[int],
    typer.Option(
        min=1, metavar="N", help="Largest batch, in sentences. Default: 64 on a CPU, else 128."
    ),
]


@command(
    "polyglot embed runs/phrasebook sentences.de --language de --output vectors.npy",
    "polyglot embed runs/phrasebook mixed.tsv --language-column 1 --output vectors.jsonl",
)
def embed(
    run: RunPath,
    file: InputFile = None,
    output: VectorFile = ...,
    language: Language = None,
    language_column: LanguageColumn = None,
    text_column: TextColumn = 2,
    pooling: Pooling = "flat",
    layer: Layer = "bridge",
    precision: Precision = "float32",
    normalize: Normalize = False,
    batch_size: BatchSize = None,
    checkpoint: Checkpoint = "best",
    device: Device = None,
    compute_precision: ComputePrecision = "float32",
) -> None:
    """Compute the sentence embedding of each line.

    Memory does not depend on the number of lines.
    """
    from polyglot.inference.embeddings.vector_files import vector_format

    _check_language_source(language, language_column, text_column)
    vector_format(output)
    languages = [language] if language else None
    encoder = load_encoder(
        run,
        languages,
        checkpoint=checkpoint,
        device=device,
        precision=compute_precision,
    )
    size = encoder.vector_size(layer=layer, pooling=pooling)
    place = str(file or "standard input")
    total, blocks = read_lines(file)
    if language:
        chunks = _chunks_in_language(blocks, encoder, language)
    else:
        chunks = _chunks_from_columns(blocks, encoder, language_column, text_column, place)

    encoded_chunks = encoder.encode_chunks(
        chunks,
        pooling=pooling,
        layer=layer,
        precision=precision,
        normalize_embeddings=normalize,
        batch_size=batch_size,
    )
    count, blank_count = _write_vectors(
        encoded_chunks, output, size=size, precision=precision, total=total, place=place
    )
    vectors = pluralize(count, "vector")
    message = f"{vectors} of {size} {precision} numbers written to {output}"
    logger.info(message + _describe_blank_lines(blank_count))


def _chunks_in_language(
    blocks: Iterable[list[str]],
    encoder: Translator,
    language: str,
) -> Iterator[SentenceChunk]:
    """Yield the lines of one language in chunks."""
    from polyglot.inference.embeddings.tagged_lines import chunks_in_language

    [language] = encoder.resolve_languages([language])
    return chunks_in_language(blocks, language)


def _chunks_from_columns(
    blocks: Iterable[list[str]],
    encoder: Translator,
    language_column: int,
    text_column: int,
    place: str,
) -> Iterator[SentenceChunk]:
    """Yield the lines in chunks; a column names the language of each line."""
    from polyglot.inference.embeddings.tagged_lines import chunks_from_columns

    return chunks_from_columns(
        blocks,
        language_column=language_column,
        text_column=text_column,
        place=place,
        languages=encoder.sources,
    )


def _describe_blank_lines(count: int) -> str:
    if not count:
        return ""
    empty_lines = pluralize(count, "empty line")
    return f"; {empty_lines} with a vector of zeros"


def _check_language_source(
    language: str | None,
    language_column: int | None,
    text_column: int,
) -> None:
    if (language is None) == (language_column is None):
        raise ConfigError(
            "embed: either --language for all sentences, or --language-column, is needed"
        )
    if language_column == text_column:
        raise ConfigError(
            f"embed: column {text_column} cannot be both the language and the sentence"
        )


def _write_vectors(
    encoded_chunks,
    output: Path,
    *,
    size: int,
    precision: str,
    total: int | None,
    place: str,
) -> tuple[int, int]:
    """Write the vectors, and return the number of lines and of blank lines.

    Raises DataError for a file without lines; the output is then not written.
    """
    from polyglot.inference.embeddings.prefetch import async_writer
    from polyglot.inference.embeddings.vector_files import open_vector_file

    count = 0
    blank_count = 0
    vector_file = open_vector_file(output, size=size, precision=precision)
    with line_progress() as progress, vector_file as opened:
        row = progress.add_task("lines", total=total)
        with async_writer(opened.write) as write:
            for (sentences, languages), vectors in encoded_chunks:
                write(vectors.numpy(), sentences=sentences, languages=languages)
                count += len(sentences)
                blank_count += sum(not sentence.strip() for sentence in sentences)
                progress.update(row, completed=count)
        if not count:
            raise DataError(f"{place}: the file is empty")
    return count, blank_count


FirstFile = Annotated[
    Path, typer.Argument(metavar="A", help="One sentence per line, plain or compressed.")
]
SecondFile = Annotated[
    Path, typer.Argument(metavar="B", help="Sentences in the other language, in the same form.")
]
FirstLanguage = Annotated[
    str,
    typer.Option(
        "--from", metavar="LANGUAGE", help="Language of A.", autocompletion=completion.languages
    ),
]
SecondLanguage = Annotated[
    str,
    typer.Option(
        "--to", metavar="LANGUAGE", help="Language of B.", autocompletion=completion.languages
    ),
]
Mine = Annotated[
    bool,
    typer.Option(
        "--mine",
        help="Mine a bitext: print pairs that are nearest to each other, best first, "
        "each sentence at most once.",
    ),
]
Threshold = Annotated[
    Optional[float],
    typer.Option(metavar="SCORE", help="Print only pairs with at least this score."),
]
Margin = Annotated[
    str,
    choice(
        MARGINS,
        help="Score: the cosine divided by the mean cosine to the neighbours (ratio), "
        "or the cosine.",
    ),
]
Neighbours = Annotated[
    int,
    typer.Option(
        min=1, metavar="K", help="Number of nearest neighbours, as candidates and for the margin."
    ),
]
Top = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Print N sentences for each line of A; at most --neighbours."
    ),
]
Search = Annotated[
    str,
    choice(SEARCHES, help="Exact search, or an approximate index for millions of sentences."),
]


@command(
    "polyglot similar runs/phrasebook sentences.de sentences.en --from de --to en",
    "polyglot similar runs/phrasebook sentences.de sentences.en --from de --to en "
    "--mine --threshold 1.05",
)
def similar(
    run: RunPath,
    first_file: FirstFile,
    second_file: SecondFile,
    source: FirstLanguage = ...,
    target: SecondLanguage = ...,
    mining: Mine = False,
    threshold: Threshold = None,
    margin: Margin = "ratio",
    neighbours: Neighbours = 4,
    top: Top = 1,
    search: Search = "exact",
    pooling: Pooling = "flat",
    layer: Layer = "bridge",
    checkpoint: Checkpoint = "best",
    device: Device = None,
) -> None:
    """Find the nearest sentences of file B for each sentence of file A.

    Output columns, separated by tabs: score, line in A, line in B, both sentences. In the
    sentences, a tab is written as \\t and a backslash as \\\\.
    """
    from polyglot.data.tsv import tsv_line
    from polyglot.inference.embeddings.bitext import find_neighbours

    encoder = load_encoder(run, [source, target], checkpoint=checkpoint, device=device)
    with line_progress() as progress:
        row = progress.add_task("lines", total=None)
        result = find_neighbours(
            encoder,
            (first_file, source),
            (second_file, target),
            pooling=pooling,
            layer=layer,
            neighbours=neighbours,
            margin=margin,
            search=search,
            progress=lambda done, total: progress.update(row, completed=done, total=total),
        )

    lowest_score = -float("inf") if threshold is None else threshold
    if mining:
        pairs = result.mined(threshold=lowest_score)
    else:
        pairs = result.nearest(top=top, threshold=lowest_score)
    for pair in pairs:
        fields = [
            f"{pair.score:.4f}",
            pair.source + 1,
            pair.target + 1,
            result.sources[pair.source],
            result.targets[pair.target],
        ]
        print(tsv_line(fields))


def load_encoder(
    path: Path,
    languages: list[str] | None,
    *,
    checkpoint: str,
    device: str | None,
    precision: str = "float32",
) -> Translator:
    """Load the encoders of these languages, default all.

    A translator needs a decoder as well, so that of the first pair is loaded.
    """
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run
    from polyglot.runs.stored_settings import TRANSLATION
    from polyglot.tasks.pairs import LanguagePair

    run = Run.open(path, sections=TRANSLATION)
    pairs = None
    if languages:
        target = run.config.pairs[0].target
        pairs = [LanguagePair(language, target) for language in languages]
    return Translator.load(
        run,
        checkpoint=checkpoint,
        pairs=pairs,
        device=device,
        precision=precision,
    )
