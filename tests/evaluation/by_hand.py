"""A score matrix with invented scores: English-centric in three languages, no text in Finnish."""

from __future__ import annotations

from polyglot.evaluation.metrics import Score
from polyglot.evaluation.output_errors import OutputErrors
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.references import Reference
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix, cells_by_pair
from polyglot.tasks.pairs import LanguagePair, pair_kind

LANGUAGES = ["en", "de", "fr", "fi"]
PAIRS = [LanguagePair(source, target) for source in LANGUAGES for target in LANGUAGES]
TRAINED = [
    LanguagePair.parse(pair) for pair in ("en-de", "de-en", "en-fr", "fr-en", "en-fi", "fi-en")
]
BLEU = {
    "en-de": 30.0,
    "de-en": 40.0,
    "en-fr": 50.0,
    "fr-en": 60.0,
    "de-fr": 10.0,
    "fr-de": 21.0,
    "en-en": 90.0,
    "de-de": 80.0,
    "fr-fr": 70.0,
}
OUTPUT_ERRORS = OutputErrors(
    off_target=0.25,
    off_target_references=0.01,
    copies=0.5,
    copies_references=0.0,
    empty=0.0,
    loops=0.125,
    loops_references=0.0,
    length_ratio=1.25,
    languages={"fr": 3, "en": 1},
)
BLEU_SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
CHRF_SIGNATURE = "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"


def has_text(pair: LanguagePair) -> bool:
    return "fi" not in (pair.source, pair.target)


def direct_cell(pair: LanguagePair) -> Cell:
    kind = pair_kind(pair, TRAINED)
    if not has_text(pair):
        return Cell(pair, kind, reason="no text in fi")
    value = BLEU[str(pair)]
    scores = {
        "bleu": Score(value, BLEU_SIGNATURE),
        "chrf": Score(value / 100 + 1 / 3, CHRF_SIGNATURE),
    }
    return Cell(pair, kind, scores, sentences=2, seconds=0.5, outputs=OUTPUT_ERRORS)


def pivot_cell(pair: str, value: float) -> Cell:
    """Cell of a translation through English."""
    return Cell(
        LanguagePair.parse(pair),
        "pivot",
        {"bleu": Score(value, BLEU_SIGNATURE, mean=value - 0.25, interval=1.5)},
        sentences=2,
        seconds=1.0,
        via="en",
        outputs=OUTPUT_ERRORS,
    )


def matrix(
    *,
    reference: str | None = None,
    run: str = "phrasebook",
    pivot: bool = False,
    **protocol: object,
) -> ScoreMatrix:
    """reference: name of a table. pivot: also translate through English. protocol: settings."""
    settings = {
        "search": {"beam": 5},
        "reference": reference,
        "pivot": "en" if pivot else None,
        **protocol,
    }
    pivots = [pivot_cell("de-fr", 35.0), pivot_cell("fr-de", 20.0)] if pivot else []
    hypotheses = {}
    for pair in PAIRS:
        if has_text(pair):
            hypotheses[str(pair)] = [f"{pair} one", "two\u2028still two\x85"]
    return ScoreMatrix(
        languages=LANGUAGES,
        cells=cells_by_pair(direct_cell(pair) for pair in PAIRS),
        trained=TRAINED,
        checkpoint={"run": run, "checkpoint": "best", "steps": [4000]},
        search={"beam": 5, "length_penalty": 1.0},
        pivots=cells_by_pair(pivots),
        protocol=Protocol.model_validate(settings),
        test=["phrasebook test"],
        versions={"polyglot": "0", "sacrebleu": "2.6.0"},
        texts={"en.00000000": ["one", "two"]},
        machine="Linux, 2 cores",
        reference=Reference.load(reference) if reference else None,
        hypotheses=hypotheses,
    )
