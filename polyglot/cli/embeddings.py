"""Sentences as vectors: write them, compare them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import Checkpoint, Device, RunPath, app, lines_bar, lines_of, logger

if TYPE_CHECKING:
    from polyglot.inference.translator import Translator


@app.command(
    epilog="polyglot embed runs/phrasebook sentences.de --language de --output vectors.npy"
)
def embed(
    run: RunPath,
    file: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="[FILE]",
            help="One sentence a line, plain or gzipped; by default standard input.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(help="Where the vectors go; the ending decides: .npy, .parquet or .jsonl."),
    ] = ...,
    language: Annotated[
        Optional[str],
        typer.Option(help="Language of all sentences.", autocompletion=completion.languages),
    ] = None,
    language_column: Annotated[
        Optional[int], typer.Option(min=1, help="Instead: the column, between tabs, that names it.")
    ] = None,
    text_column: Annotated[
        int,
        typer.Option(min=1, help="The column of the sentence, where a column names the language."),
    ] = 2,
    pooling: Annotated[
        str, typer.Option(help="flat: all rows side by side; mean or max over them.")
    ] = "flat",
    layer: Annotated[
        str, typer.Option(help="bridge, or what comes before it: states, words.")
    ] = "bridge",
    precision: Annotated[str, typer.Option(help="float32, float16 or int8.")] = "float32",
    normalize: Annotated[bool, typer.Option("--normalize", help="Vectors of length 1.")] = False,
    batch_size: Annotated[
        Optional[int],
        typer.Option(
            min=1, help="Sentences computed together, at most. Default: 64 on a CPU, else 128."
        ),
    ] = None,
    checkpoint: Checkpoint = "best",
    device: Device = None,
) -> None:
    """Turn sentences into vectors, line by line: any number of them in constant memory."""
    from polyglot.core.errors import ConfigError, DataError, pluralize
    from polyglot.inference.embeddings.prefetch import async_writer
    from polyglot.inference.embeddings.tagged_lines import chunks_from_columns, chunks_in_language
    from polyglot.inference.embeddings.vector_files import open_vector_file, vector_format

    if (language is None) == (language_column is None):
        raise ConfigError(
            "embed: either --language for all sentences, or --language-column, is needed"
        )
    if language_column == text_column:
        raise ConfigError(
            f"embed: column {text_column} cannot be both the language and the sentence"
        )
    vector_format(output)
    encoder = _reader(run, [language] if language else None, checkpoint=checkpoint, device=device)
    size = encoder.vector_size(layer=layer, pooling=pooling)
    place = str(file or "standard input")
    total, blocks = lines_of(file)
    if language:
        portions = chunks_in_language(blocks, language)
    else:
        portions = chunks_from_columns(
            blocks,
            language_column=language_column,
            text_column=text_column,
            place=place,
            languages=encoder.sources,
        )
    settings = {
        "pooling": pooling,
        "layer": layer,
        "precision": precision,
        "normalize_embeddings": normalize,
        "batch_size": batch_size,
    }
    found = encoder.encode_chunks(portions, **settings)
    done = blank = 0
    with lines_bar() as bar, open_vector_file(output, size=size, precision=precision) as written:
        row = bar.add_task("lines", total=total)
        with async_writer(written.write) as write:
            for (sentences, languages), vectors in found:
                write(vectors.numpy(), sentences=sentences, languages=languages)
                done += len(sentences)
                blank += sum(not sentence.strip() for sentence in sentences)
                bar.update(row, completed=done)
        if not done:
            raise DataError(f"{place}: the file is empty")
    empty = f"; {pluralize(blank, 'empty line')} with a vector of zeros" if blank else ""
    logger.info(
        f"{pluralize(done, 'vector')} of {size} {precision} numbers written to {output}{empty}"
    )


@app.command(
    epilog="polyglot similar runs/phrasebook sentences.de sentences.en --from de --to en · "
    "polyglot similar runs/phrasebook sentences.de sentences.en --from de --to en --mine --threshold 1.05"
)
def similar(
    run: RunPath,
    one: Annotated[
        Path, typer.Argument(metavar="A", help="One sentence a line, plain or gzipped.")
    ],
    other: Annotated[Path, typer.Argument(metavar="B", help="The same in the other language.")],
    source: Annotated[
        str, typer.Option("--from", help="Language of A.", autocompletion=completion.languages)
    ] = ...,
    target: Annotated[
        str, typer.Option("--to", help="Language of B.", autocompletion=completion.languages)
    ] = ...,
    mining: Annotated[
        bool,
        typer.Option(
            "--mine",
            help="Bitext: pairs that are each other's best, the best first, no sentence twice.",
        ),
    ] = False,
    threshold: Annotated[Optional[float], typer.Option(help="Only what scores so high.")] = None,
    margin: Annotated[
        str,
        typer.Option(
            help="ratio: cosine over the mean cosine with the neighbours; or plain cosine."
        ),
    ] = "ratio",
    neighbours: Annotated[
        int,
        typer.Option(
            min=1, help="k nearest neighbours that are candidates, and that the margin looks at."
        ),
    ] = 4,
    top: Annotated[
        int,
        typer.Option(
            min=1, help="Print so many for each line of A, at most as many as the neighbours."
        ),
    ] = 1,
    search: Annotated[
        str, typer.Option(help="exact, or faiss: an index for millions, not always exact.")
    ] = "exact",
    pooling: Annotated[
        str, typer.Option(help="flat: all rows side by side; mean or max over them.")
    ] = "flat",
    layer: Annotated[
        str, typer.Option(help="bridge, or what comes before it: states, words.")
    ] = "bridge",
    checkpoint: Checkpoint = "best",
    device: Device = None,
) -> None:
    """Find for each sentence of A the nearest ones of B: score, line in A, line in B and both texts, between tabs."""
    from polyglot.inference.embeddings.bitext import find_neighbours

    encoder = _reader(run, [source, target], checkpoint=checkpoint, device=device)
    with lines_bar() as bar:
        row = bar.add_task("lines", total=None)
        found = find_neighbours(
            encoder, (one, source), (other, target), pooling=pooling, layer=layer, neighbours=neighbours, margin=margin, search=search,
            progress=lambda done, total: bar.update(row, completed=done, total=total),
        )  # fmt: skip
    lowest = -float("inf") if threshold is None else threshold
    for pair in (
        found.mined(threshold=lowest) if mining else found.nearest(top=top, threshold=lowest)
    ):
        print(
            f"{pair.score:.4f}",
            pair.source + 1,
            pair.target + 1,
            found.sources[pair.source],
            found.targets[pair.target],
            sep="\t",
        )


def _reader(
    run: Path, wanted: list[str] | None, *, checkpoint: str, device: str | None
) -> Translator:
    """What reads these languages, or all of the run's; a decoder comes along, since none is loaded without."""
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run
    from polyglot.tasks.pairs import LanguagePair

    opened = Run.open(run)
    target = opened.config.pairs[0].target
    pairs = wanted and [LanguagePair(language, target) for language in wanted]
    return Translator.load(opened, checkpoint=checkpoint, pairs=pairs, device=device)
