"""Model card: the page of a run on the hub, with scores, training text and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyglot.core.errors import abbreviate, pluralize
from polyglot.core.hub_address import HubAddress
from polyglot.core.language_titles import language_title
from polyglot.core.markdown import code_span, escape, table
from polyglot.core.score_tables import ERROR_TITLES, NO_VALUE, format_percent
from polyglot.core.version import VERSION
from polyglot.evaluation.grid import (
    direct_grid,
    legend,
    matrix_title,
    mean_errors_by_kind,
    signature_lines,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.views.markdown import grid_table, means_table
from polyglot.publishing.card_metadata import card_metadata
from polyglot.publishing.training_text import training_text_table
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig

LARGEST_TABLE = 30
"""Languages of the largest matrix that is printed as a table; the picture shows every matrix."""

SHOWN_NAMES = 20
"""Languages or directions that a sentence lists before `…`."""

BRIDGE_TITLES = {"attention": "a shared attention bridge", "none": "no bridge"}

HIGH_OFF_TARGET = 0.1
"""Share of outputs in a wrong language above which a direction is named."""


@dataclass(frozen=True)
class CardScores:
    """Scores of one protocol on one test set."""

    name: str
    """name of the folder below `evaluation/`"""
    matrix: ScoreMatrix
    picture: str
    """file of its picture in the repository"""


def model_card(
    run: Run,
    address: HubAddress,
    *,
    scores: Sequence[CardScores],
    unknown_shares: Mapping[str, float],
    checkpoint: str,
    licence: str | None,
) -> str:
    """Return the content of README.md: metadata in YAML, then the page in Markdown.

    unknown_shares: of the pieces of test text, by language. checkpoint: description of the
    published checkpoint. licence: of the model, an identifier of the hub.
    """
    matrices = [entry.matrix for entry in scores]
    metadata = card_metadata(run, matrices, name=address.name, licence=licence)
    blocks = [
        f"# {address.name}",
        _summary(run),
        *_usage(run, address),
        "## Languages",
        _language_table(run, unknown_shares),
        *_score_blocks(scores),
        "## Training text",
        training_text_table(run.config.data.train),
        *_limits(run, matrices, unknown_shares),
        "## Training",
        _training(address, checkpoint),
        "## Licence",
        _licence(licence),
    ]
    body = "\n\n".join(blocks)
    return f"---\n{metadata.to_yaml()}\n---\n\n{body}\n"


def _summary(run: Run) -> str:
    names = [escape(language_title(language)) for language in run.config.languages]
    count = pluralize(len(names), "language")
    listed = abbreviate(names, shown=SHOWN_NAMES)
    bridge_type = run.config.model.bridge.type
    bridge = BRIDGE_TITLES.get(bridge_type, f"a shared bridge ({bridge_type})")
    sentences = [
        f"This model translates between {count}: {listed}.",
        f"It has encoders for source languages, decoders for target languages, and {bridge} "
        "between them.",
    ]
    if run.config.sharing != SharingConfig():
        sentences.append("Some languages share components.")
    sentences.append("It was trained with Polyglot.")
    return " ".join(sentences)


def _usage(run: Run, address: HubAddress) -> list[str]:
    pair = _example_pair(run.config.pairs)
    python = (
        "import polyglot\n"
        f'model = polyglot.load("{address}", pairs=["{pair}"])\n'
        f'model.translate(["…"], source="{pair.source}", target="{pair.target}")'
    )
    shell = (
        "pip install polyglot-nmt\n"
        f"polyglot translate {address} --from {pair.source} --to {pair.target} < text"
    )
    return [
        "## Use",
        f"```python\n{python}\n```",
        f"```bash\n{shell}\n```",
        "Both download only the files of this direction. Without `pairs`, all of them are loaded.",
    ]


def _example_pair(pairs: Sequence[LanguagePair]) -> LanguagePair:
    """Return the first pair of two languages; a copy if all pairs are copies."""
    for pair in pairs:
        if not pair.is_copy:
            return pair
    return pairs[0]


def _language_table(run: Run, unknown_shares: Mapping[str, float]) -> str:
    """Table of the languages: code, name, sides, size of the vocabulary, unknown pieces."""
    sources = {pair.source for pair in run.config.pairs}
    targets = {pair.target for pair in run.config.pairs}
    rows = []
    for language in run.config.languages:
        sides = []
        if language in sources:
            sides.append("source")
        if language in targets:
            sides.append("target")
        vocabulary = run.vocabularies.get(language, ())
        row = [
            code_span(language),
            escape(language_title(language)),
            ", ".join(sides),
            f"{len(vocabulary):,}",
            format_percent(unknown_shares.get(language), digits=2),
        ]
        rows.append(row)
    head = ["code", "language", "as", "vocabulary", "unknown in test text"]
    return table(head, rows, words=["language", "as"])


# Scores


def _score_blocks(scores: Sequence[CardScores]) -> list[str]:
    if not scores:
        return ["## Scores", "This checkpoint has not been evaluated."]
    blocks = ["## Scores"]
    for entry in scores:
        matrix = entry.matrix
        test_text = escape("; ".join(matrix.test))
        blocks += [
            f"### {escape(entry.name)}",
            f"Rows are sources, columns are targets. {legend(matrix)}.",
            f"Test text: {test_text}. Scored: {escape(matrix_title(matrix))}.",
            f"![Scores of every direction, {entry.name}]({entry.picture})",
        ]
        for measure in matrix.measures:
            blocks += _measure_blocks(matrix, measure)
    return blocks


def _measure_blocks(matrix: ScoreMatrix, measure: Measure) -> list[str]:
    """Table, means and signatures of one measure."""
    grid = direct_grid(matrix, measure)
    signatures = []
    for line in signature_lines(matrix, measure):
        signatures.append(f"- signature: {code_span(line)}")
    blocks = [f"#### {grid.title}"]
    if len(matrix.languages) <= LARGEST_TABLE:
        blocks.append(grid_table(grid))
    return [*blocks, means_table(grid), "\n".join(signatures)]


# Limits


def _limits(
    run: Run,
    matrices: Sequence[ScoreMatrix],
    unknown_shares: Mapping[str, float],
) -> list[str]:
    lines = [_zero_shot_limit(run), _vocabulary_limit(unknown_shares)]
    length = run.config.data.filter.max_length
    if length is not None:
        lines.append(
            f"The longest training sentences have {length} pieces. Longer sentences are "
            "translated worse; `--split-sentences` splits paragraphs."
        )
    lines += _off_target_limits(matrices)
    blocks = ["## Limits", "\n".join(f"- {line}" for line in lines)]
    if matrices:
        blocks += _output_error_blocks(matrices[0])
    return blocks


def _zero_shot_limit(run: Run) -> str:
    """Sentence on the directions that no text trained."""
    trained = {*run.config.pairs, *map(LanguagePair.parse, run.config.trained_before)}
    sources = dict.fromkeys(pair.source for pair in run.config.pairs)
    targets = dict.fromkeys(pair.target for pair in run.config.pairs)
    zero_shot = []
    for source in sources:
        for target in targets:
            pair = LanguagePair(source, target)
            if pair not in trained and not pair.is_copy:
                zero_shot.append(pair)
    if not zero_shot:
        return "Every direction was trained."
    listed = abbreviate(zero_shot, shown=SHOWN_NAMES)
    return f"No text trained these zero-shot directions (†), so expect more errors: {listed}."


def _vocabulary_limit(unknown_shares: Mapping[str, float]) -> str:
    measured = "The share of unknown pieces was not measured."
    if unknown_shares:
        worst = max(unknown_shares, key=unknown_shares.get)
        share = format_percent(unknown_shares[worst], digits=2)
        measured = f"The highest share in the test text is {share}, in {worst}."
    return f"What is not in the vocabulary of a language becomes an unknown piece. {measured}"


def _off_target_limits(matrices: Sequence[ScoreMatrix]) -> list[str]:
    """Sentences on directions with many outputs in another language than the target."""
    lines = []
    for matrix in matrices:
        directions = []
        for cell in matrix.cells.values():
            share = cell.outputs and cell.outputs.off_target
            if share is not None and share >= HIGH_OFF_TARGET:
                directions.append(f"{cell.pair} {format_percent(share)}")
        if directions:
            listed = abbreviate(directions, shown=SHOWN_NAMES)
            lines.append(f"Many outputs are in a wrong language (off-target): {listed}.")
    return lines


def _output_error_blocks(matrix: ScoreMatrix) -> list[str]:
    """Table of the output errors of each kind of direction; empty if they were not measured."""
    rows = []
    for kind, errors in mean_errors_by_kind(matrix).items():
        rows.append([kind, *[errors.get(name, NO_VALUE) for name in ERROR_TITLES]])
    if not rows:
        return []
    return [
        "Output errors, as shares of the sentences. In brackets: the same for the references.",
        table(["kind", *ERROR_TITLES.values()], rows),
    ]


# Training and licence


def _training(address: HubAddress, checkpoint: str) -> str:
    lines = [
        f"- checkpoint: {escape(checkpoint)}",
        f"- program: Polyglot {VERSION}",
        f"- configuration: `polyglot show {address}` prints every setting",
    ]
    return "\n".join(lines)


def _licence(licence: str | None) -> str:
    if licence is None:
        return "No licence is named for the model. The training text has its own licences, above."
    return f"The model: {code_span(licence)}. The training text has its own licences, above."
