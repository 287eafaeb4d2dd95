"""Time of search with vocabulary selection (1,000 of 30,000 words), compared with all words.

    python evaluation/benchmarks/selection.py [--words 1000] [--decoder gru] [--size 512] [--beam 5]
        [--sentences 256] [--length 20] [--vocabulary 30000] [--processor-time]
    python evaluation/benchmarks/selection.py --run RUN --direction de-en [--sentences 500]

Without a run the parameters are random, and every sentence is decoded to the same length, so that
all searches take the same number of steps. With a run its test text is translated, and BLEU is
computed too. Each value is the median of several repetitions. The searches take turns, so that a
machine that becomes slower slows all of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping

import torch
from machine import machine_now

from polyglot.core.markdown import table
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.vocabulary_selection import (
    RestrictedVocabularyDecoder,
    select_words,
    selection_is_useful,
)
from polyglot.inference.translator import Translator
from polyglot.model.config import ModelConfig
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.tasks.batch import SPECIAL_TOKENS, pad
from polyglot.tasks.pairs import LanguagePair

GOAL = 0.5
"""Goal for the share of the time of all words; the paper needs less than a third (Weng et al. 2017,
figure 5)."""
VOCABULARY = 30_000
PAIR = LanguagePair("de", "en")
ALL_WORDS = "all words"

Searches = dict[str, Callable[[], object]]
"""Functions that decode all sentences, by the vocabulary that they search."""


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    scores: Mapping[str, str] = {}
    if arguments.run:
        searches, scores = searches_of_run(arguments)
    else:
        searches = searches_of_random_model(arguments)
    clock = time.process_time if arguments.processor_time else time.perf_counter
    medians = median_seconds(searches, arguments.repetitions, clock)

    rows = []
    for name, seconds in medians.items():
        share = f"{seconds / medians[ALL_WORDS]:.2f}"
        rows.append([name, f"{seconds:.2f}", share, scores.get(name, "–")])
    sentences = arguments.sentences
    print(f"{machine_now(arguments.threads)}; beam {arguments.beam}, {sentences} sentences\n")
    print(table(["vocabulary", "seconds", "share of the time of all words", "BLEU"], rows))

    selected = [seconds for name, seconds in medians.items() if name != ALL_WORDS]
    best = min(selected) / medians[ALL_WORDS]
    result = "reached" if best <= GOAL else "missed"
    print(f"\nThe goal of {GOAL} is {result} with {best:.2f}.")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--words",
        type=int,
        action="append",
        help="number of selected words; may be repeated (1000)",
    )
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY)
    parser.add_argument("--decoder", default="gru")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument(
        "--batch", type=int, default=64, help="sentences of a batch, for a model without a run"
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="time of the processor for this process, on a machine with other work",
    )
    parser.add_argument("--run")
    parser.add_argument("--direction", type=LanguagePair.parse)
    arguments = parser.parse_args()
    arguments.words = arguments.words or [1000]
    return arguments


def median_seconds(
    searches: Searches, repetitions: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Return the median time of each search, after one repetition as a warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(repetitions + 1):
        for name, decode in searches.items():
            start = clock()
            decode()
            seconds[name].append(clock() - start)
    return {name: statistics.median(values[1:]) for name, values in seconds.items()}


def search_names(words: int) -> tuple[str, str]:
    """Return the names of the searches with words of single sentences, and of a whole batch."""
    return f"{words:,} words of each sentence", f"{words:,} words of each, union of the batch"


# Random model


def searches_of_random_model(arguments: argparse.Namespace) -> Searches:
    """Return the searches of a model with random parameters.

    The prediction of the words is part of the time.
    """
    model = random_model(arguments.decoder, arguments.size, arguments.vocabulary)
    generator = torch.Generator().manual_seed(1)
    shape = (arguments.sentences, arguments.length)
    sentences = torch.randint(len(SPECIAL_TOKENS), arguments.vocabulary, shape, generator=generator)
    tokens, mask = pad(sentences.tolist())
    decoder = model.decoders["en"]
    config = SearchConfig(beam=arguments.beam, max_length_ratio=1.0, max_length_extra=1)

    @torch.inference_mode()
    def decode(words: int | None, *, use_union: bool = False) -> None:
        for start in range(0, arguments.sentences, arguments.batch):
            rows = slice(start, start + arguments.batch)
            memory = model.encode("de", tokens[rows], mask[rows])
            lengths = mask[rows].sum(dim=1)
            selected = None
            if words is not None and selection_is_useful(words, arguments.vocabulary):
                predictor = decoder.word_predictor("initial_words")
                initial_state = decoder.body.initial_state(memory)
                hidden, _ = predictor(initial_state, memory)
                scores = predictor.output(hidden).float()
                selected = select_words(scores, words, together=use_union)
            batch_decoder = decoder
            if selected is not None:
                batch_decoder = RestrictedVocabularyDecoder(decoder, selected)
            search(batch_decoder, memory, lengths, config)

    searches: Searches = {ALL_WORDS: lambda: decode(None)}
    for words in arguments.words:
        sentence_name, union_name = search_names(words)
        searches[sentence_name] = lambda words=words: decode(words)
        searches[union_name] = lambda words=words: decode(words, use_union=True)
    return searches


def random_model(decoder: str, size: int, vocabulary: int) -> TranslationModel:
    decoder_settings = {"type": decoder, "size": size}
    if decoder in ("gru", "lstm"):
        decoder_settings["layers"] = 1
    settings = {
        "embedding": {"size": size},
        "encoder": {"type": "gru", "size": size, "layers": 1},
        "bridge": "none",
        "decoder": decoder_settings,
        "options": {"decoder": [{"type": "word_prediction", "predict": "initial"}]},
    }
    model = TranslationModel(
        ModelConfig.model_validate(settings),
        vocabulary_sizes={"de": vocabulary, "en": vocabulary},
        pairs=[PAIR],
        seed=1,
    )
    return model.eval()


# Trained run


def searches_of_run(arguments: argparse.Namespace) -> tuple[Searches, dict[str, str]]:
    """Return the searches of a run on its test text, and the BLEU of each."""
    import sacrebleu

    from polyglot.analysis.word_prediction import held_out

    run = Run.open(arguments.run)
    pair = arguments.direction
    translator = Translator.load(run, pairs=[pair])
    sources, references = held_out(run, pair, arguments.sentences)

    settings = {ALL_WORDS: {"select": None}}
    for words in arguments.words:
        sentence_name, union_name = search_names(words)
        settings[sentence_name] = {"select": words, "select_for": "sentence"}
        settings[union_name] = {"select": words, "select_for": "batch"}

    def translate(search_settings: Mapping[str, object]) -> list[str]:
        return translator.translate(
            sources,
            source=pair.source,
            target=pair.target,
            beam=arguments.beam,
            **search_settings,
        )

    searches: Searches = {}
    scores = {}
    for name, search_settings in settings.items():
        bleu = sacrebleu.corpus_bleu(translate(search_settings), [references])
        scores[name] = f"{bleu.score:.2f}"
        searches[name] = lambda search_settings=search_settings: translate(search_settings)
    return searches, scores


if __name__ == "__main__":
    main()
