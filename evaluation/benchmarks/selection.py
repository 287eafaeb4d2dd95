"""How long search takes among 1,000 of 30,000 words, beside all of them, at equal beam.

    python evaluation/benchmarks/selection.py [--words 1000] [--decoder gru] [--size 512] [--beam 5] [--sentences 256] [--length 20]
    python evaluation/benchmarks/selection.py --run RUN --direction de-en [--sentences 500]

Without a run the parameters are random and every sentence is decoded to the same length, so that both searches take the same number
of steps. With a run its test text is translated, and BLEU is measured, too. Each figure is the median of several repetitions, taken
in turns so that a machine that slows down slows all of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.vocabulary_selection import (
    RestrictedVocabularyDecoder,
    most_probable_words,
    union_of_words,
)
from polyglot.inference.translator import Translator
from polyglot.model.config import ModelConfig
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.tasks.batch import SPECIAL_TOKENS, pad
from polyglot.tasks.pairs import LanguagePair

BAR = 0.5
"""Of the time of all words; the paper's is under a third (Weng et al. 2017, figure 5)."""
VOCABULARY = 30_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--words", type=int, action="append", help="how many are selected; may be repeated (1000)"
    )
    parser.add_argument("--decoder", default="gru")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument(
        "--together",
        type=int,
        default=64,
        help="sentences decoded together, of a model without a run",
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--run")
    parser.add_argument("--direction", type=LanguagePair.parse)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    ways, scores = of_run(options) if options.run else of_random(options)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.repetitions + 1):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - started)
    medians = {
        name: statistics.median(own[1:]) for name, own in seconds.items()
    }  # the first one warms up
    whole = medians["all words"]
    print(f"{options.threads} threads, beam {options.beam}, {options.sentences} sentences\n")
    print("| search among | seconds | of the time of all | BLEU |\n|---|---:|---:|---:|")
    for name, value in medians.items():
        print(f"| {name} | {value:.2f} | {value / whole:.2f} | {scores.get(name, '–')} |")
    reached = min(value for name, value in medians.items() if name != "all words") / whole
    print(f"\nthe bar is {BAR}: {'reached' if reached <= BAR else 'missed'} with {reached:.2f}")


def of_random(
    options: argparse.Namespace,
) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """A model of that size with random parameters; what predicts words is part of the time."""
    size = options.size
    decoder = {"type": options.decoder, "size": size}
    config = ModelConfig.model_validate({
        "embedding": {"size": size}, "encoder": {"type": "gru", "size": size, "layers": 1}, "bridge": "none",
        "decoder": decoder if options.decoder == "transformer" else {**decoder, "layers": 1},
        "options": {"decoder": [{"type": "word_prediction", "predict": "initial"}]},
    })  # fmt: skip
    model = TranslationModel(
        config,
        vocabulary_sizes={"de": VOCABULARY, "en": VOCABULARY},
        pairs=[LanguagePair("de", "en")],
        seed=1,
    ).eval()
    generator = torch.Generator().manual_seed(1)
    tokens, mask = pad(
        torch.randint(
            len(SPECIAL_TOKENS),
            VOCABULARY,
            (options.sentences, options.length),
            generator=generator,
        ).tolist()
    )
    decoder, search_config = (
        model.decoders["en"],
        SearchConfig(beam=options.beam, max_length_ratio=1.0, max_length_extra=1),
    )

    @torch.inference_mode()
    def decode(words: int | None, together: bool) -> None:
        for start in range(0, options.sentences, options.together):
            rows = slice(start, start + options.together)
            memory = model.encode("de", tokens[rows], mask[rows])
            if words is None:
                search(decoder, memory, mask[rows].sum(dim=1), search_config)
                continue
            predictor = decoder.word_predictor("initial_words")
            hidden, _ = predictor(decoder.body.initial_state(memory), memory)
            chosen = most_probable_words(predictor.output(hidden), words)
            search(
                RestrictedVocabularyDecoder(decoder, union_of_words(chosen) if together else chosen),
                memory,
                mask[rows].sum(dim=1),
                search_config,
            )

    ways: dict[str, Callable[[], object]] = {"all words": lambda: decode(None, False)}
    for words in options.words or [1000]:
        ways[f"{words:,} words of each sentence"] = lambda words=words: decode(words, False)
        ways[f"{words:,} words of each, together"] = lambda words=words: decode(words, True)
    return ways, {}


def of_run(options: argparse.Namespace) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """The run's own text and search."""
    import sacrebleu

    from polyglot.analysis.word_prediction import held_out

    run, pair = Run.open(options.run), options.direction
    translator = Translator.load(run, pairs=[pair])
    sources, references = held_out(run, pair, options.sentences)
    given = {"source": pair.source, "target": pair.target, "beam": options.beam}
    settings = {"all words": {"select": None}}
    for words in options.words or [1000]:
        settings[f"{words:,} words of each sentence"] = {"select": words, "select_for": "sentence"}
        settings[f"{words:,} words of each, together"] = {"select": words, "select_for": "batch"}
    scores = {
        name: f"{sacrebleu.corpus_bleu(translator.translate(sources, **given, **own), [references]).score:.2f}"
        for name, own in settings.items()
    }
    return {
        name: lambda own=own: translator.translate(sources, **given, **own)
        for name, own in settings.items()
    }, scores


if __name__ == "__main__":
    main()
