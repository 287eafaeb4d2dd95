"""Consistency checks between keys of a configuration that are each valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, collect_errors, unknown_name, unknown_names
from polyglot.core.language_codes import normal_form, repeated_languages
from polyglot.core.problems import KeyPath, Problem
from polyglot.core.registry import ComponentConfig
from polyglot.model.options import OPTIONS
from polyglot.tasks.pairs import LANGUAGE_CODE, LanguagePair, match_pairs
from polyglot.text.vocabulary import VocabularyConfig

SCHEDULE_KEYS = (("schedule", "pairs"), ("schedule", "copies"), ("schedule", "exclude"))


def consistency_problems(config: Config) -> Iterator[Problem]:
    """Yield every contradiction between keys, in the order of the checks below."""
    yield from _language_problems(config)
    yield from config.sharing.problems(config.languages)
    yield from _different_settings_in_group(config)
    yield from _word_prediction_in_group(config)

    pairs = _trained_pairs(config)
    yield from _schedule_problems(config)
    yield from _trained_before_problems(config)
    yield from _unmatched_bleu_pairs(config)
    yield from _unknown_components(config, pairs)
    if pairs:
        yield from _untrained_bleu_pairs(config, pairs)

    yield from _validation_problems(config)
    yield from _streamed_held_out_text(config)
    yield from _epochs_of_streamed_text(config)
    yield from _placement_problems(config)
    yield from _search_problems(config)
    if config.search.select and config.search.select_by == "prediction":
        yield from _missing_word_prediction(config, pairs or [])


def _language_problems(config: Config) -> Iterator[Problem]:
    """Yield invalid and repeated language codes, and settings for unknown languages."""
    for language in config.languages:
        if not LANGUAGE_CODE.fullmatch(language):
            example = language.replace("-", "_")
            if not LANGUAGE_CODE.fullmatch(example):
                example = "zh_Hans"
            yield Problem(
                ("languages",),
                f"{language!r} is no language code; "
                f"use letters, digits and underscores, such as 'de' or {example!r}",
            )
    for first, second in repeated_languages(config.languages):
        yield Problem(
            ("languages",),
            f"{first!r} and {second!r} are two spellings of one language, {normal_form(first)}; "
            "keep one of them",
        )
    repeated = _repeated_languages(config)
    if repeated:
        yield Problem(("languages",), f"{', '.join(repeated)} named twice")

    known_languages = set(config.languages)
    for section in ("model", "vocabulary", "text"):
        named_languages = getattr(config, section).languages
        unknown = [language for language in named_languages if language not in known_languages]
        for language, message in unknown_names("language", unknown, config.languages):
            yield Problem((section, "languages", language), message, languages=(language,))


def _repeated_languages(config: Config) -> list[str]:
    counts = Counter(config.languages)
    return sorted(language for language, count in counts.items() if count > 1)


# Schedule and pairs


def _trained_pairs(config: Config) -> list[LanguagePair] | None:
    """Return the trained pairs; None if languages, schedule or `trained_before` are invalid."""
    if _repeated_languages(config):
        return None
    try:
        return config.pairs
    except ConfigError:
        return None


def _schedule_problems(config: Config) -> list[Problem]:
    """Return the problems of the schedule.

    A repeated language is a problem of its own: the schedule may have no pair because of it.
    """
    problems: list[Problem] = []
    if _repeated_languages(config):
        return problems
    with collect_errors(problems):
        if not config.tasks:
            message = (
                "no task is left to train: "
                "schedule.exclude takes all of schedule.pairs and schedule.copies"
            )
            problems.append(Problem(("schedule",), message, related=SCHEDULE_KEYS))
    return problems


def _trained_before_problems(config: Config) -> list[Problem]:
    problems: list[Problem] = []
    for text in config.trained_before:
        with collect_errors(problems, "trained_before"):
            pair = LanguagePair.parse(text)
            for language in (pair.source, pair.target):
                if language not in config.languages:
                    message = unknown_name("language", language, config.languages)
                    problem = Problem(("trained_before",), message, languages=(language,))
                    problems.append(problem)
    return problems


def _unmatched_bleu_pairs(config: Config) -> list[Problem]:
    problems: list[Problem] = []
    for pattern in config.validation.bleu_pairs:
        with collect_errors(problems, "validation", "bleu_pairs"):
            match_pairs([pattern], config.languages)
    return problems


def _unknown_components(config: Config, pairs: Sequence[LanguagePair] | None) -> Iterator[Problem]:
    """Yield patterns of `freeze` and `initialize` that match no component."""
    # If the trained pairs are not known, use the components of all languages.
    possible_pairs = pairs or [LanguagePair(name, name) for name in config.languages]
    names = config.model.component_names(possible_pairs, config.sharing)
    known_names = set(names)
    patterns_by_key = {"freeze": config.freeze, "initialize": config.initialize}
    for key, patterns in patterns_by_key.items():
        for pattern in patterns:
            if pattern not in known_names and not any(
                fnmatchcase(name, pattern) for name in names
            ):
                message = unknown_name("component", pattern, names)
                _, _, name = pattern.partition(".")
                is_unknown = LANGUAGE_CODE.fullmatch(name) and name not in config.languages
                yield Problem((key,), message, languages=(name,) if is_unknown else ())


def _untrained_bleu_pairs(config: Config, pairs: Sequence[LanguagePair]) -> Iterator[Problem]:
    """Yield pairs of `validation.bleu_pairs` without a trained encoder and a trained decoder."""
    sources = {pair.source for pair in pairs}
    targets = {pair.target for pair in pairs}
    validated: dict[LanguagePair, None] = {}
    for pattern in config.validation.bleu_pairs:
        with suppress(ConfigError):  # a pattern without a pair is reported by another check
            validated.update(dict.fromkeys(match_pairs([pattern], config.languages)))

    for pair in validated:
        if pair.source not in sources or pair.target not in targets:
            yield Problem(
                ("validation", "bleu_pairs"),
                f"{pair} needs an encoder of {pair.source} and a decoder of {pair.target}, "
                "which no task trains",
            )


# Validation, placement, search


def _validation_problems(config: Config) -> Iterator[Problem]:
    validation = config.validation
    if validation.best_by == "bleu" and not validation.bleu_pairs:
        yield Problem(
            ("validation", "best_by"),
            "'bleu' needs validation.bleu_pairs",
            related=(("validation", "bleu_pairs"),),
        )
    if not config.data or config.data.valid:
        return
    for key in ("bleu_pairs", "best_by", "patience"):
        if getattr(validation, key) != type(validation).model_fields[key].default:
            yield Problem(
                ("validation", key),
                "needs held-out text, and data.valid names no corpus",
                related=(("data", "valid"),),
            )


def _streamed_held_out_text(config: Config) -> Iterator[Problem]:
    if not config.data:
        return
    for part in ("valid", "test"):
        for number, corpus in enumerate(getattr(config.data, part)):
            if getattr(corpus, "streaming", False):
                yield Problem(
                    ("data", part, number, "streaming"),
                    "held-out text is not streamed; leave it out",
                )


def _epochs_of_streamed_text(config: Config) -> Iterator[Problem]:
    """Yield `training.epochs` if some training text is streamed: its length is not known."""
    if not config.data or getattr(config.training, "epochs", None) is None:
        return
    for number, corpus in enumerate(config.data.train):
        if getattr(corpus, "streaming", False):
            yield Problem(
                ("training", "epochs"),
                "needs the number of sentences of each task, which is not known for streamed text "
                f"(data.train.{number}); write training.steps in its place",
                related=(("data", "train"),),
            )
            return


def _placement_problems(config: Config) -> Iterator[Problem]:
    """Yield settings that `parallel.placement: partitioned` does not support."""
    if config.parallel.placement != "partitioned":
        return
    placement: KeyPath = ("parallel", "placement")
    if config.parallel.tasks == "same":
        yield Problem(
            placement,
            "'partitioned' gives each process tasks of its own; "
            "it needs parallel.tasks 'mixed', found 'same'",
            related=(("parallel", "tasks"),),
        )
    if getattr(config.training, "precision", None) == "fp16":
        yield Problem(
            placement,
            "'partitioned' cannot agree on the scale of 'fp16' losses; "
            "use training.precision 'bf16' or 'no'",
            related=(("training", "precision"),),
        )
    for name in ("agreement", "reference_consistency"):
        if not getattr(config.losses, name).weight:
            continue
        yield Problem(
            ("losses", name),
            "needs the encoder of each target's language, which parallel.placement 'partitioned' "
            "may keep on another process; use 'replicated', or a weight of 0",
            related=(placement,),
        )


def _search_problems(config: Config) -> Iterator[Problem]:
    search = config.search
    if search.n_best > search.beam:
        yield Problem(
            ("search", "n_best"),
            f"{search.n_best} hypotheses cannot come from search.beam {search.beam}",
            related=(("search", "beam"),),
        )


def _missing_word_prediction(config: Config, pairs: Iterable[LanguagePair]) -> Iterator[Problem]:
    """Yield decoders that cannot predict the words that search is restricted to."""
    for language in dict.fromkeys(pair.target for pair in pairs):
        options = _decoder_options(config, language)
        if all(option.predict == "states" for option in options):
            yield Problem(
                ("search", "select"),
                f"the decoder of {language} has no word_prediction from its initial state; put it "
                "on in model.options.decoder, or write search.select_by: shortlist",
                related=(("search", "select_by"), ("model", "options", "decoder")),
            )
            return


def _decoder_options(config: Config, language: str) -> list[ComponentConfig]:
    """Return the options of a decoder that are heads on it, such as word prediction."""
    options = config.model.for_language(language).options.decoder
    return [option for option in options if OPTIONS.get(option.type).place == "decoder"]


# Sharing groups


def _word_prediction_in_group(config: Config) -> Iterator[Problem]:
    """Yield the first shared decoder that predicts words, but of different vocabularies."""
    vocabularies = config.sharing.group_names("vocabulary", config.languages)
    for members in config.sharing.group_members("decoder", config.languages):
        if len({vocabularies[member] for member in members}) == 1:
            continue
        for language in members:
            options = _decoder_options(config, language)
            if options:
                yield Problem(
                    ("model", "options", "decoder"),
                    f"{options[0].type} predicts words, so {' and '.join(members)} "
                    "cannot share a decoder without sharing their vocabulary",
                )
                return


def _different_settings_in_group(config: Config) -> Iterator[Problem]:
    """Yield settings of shared components that differ between the languages of a group."""
    model = config.model.for_language
    comparisons: list[tuple[str, str, Callable[[str], Any]]] = [
        ("vocabulary", "vocabulary", lambda language: _vocabulary_settings(config, language)),
        ("embeddings", "model.embedding", lambda language: model(language).embedding),
        ("encoder", "model.encoder", lambda language: model(language).encoder),
        ("encoder", "model.embedding.size", lambda language: model(language).embedding.size),
        ("encoder", "model.options.encoder", lambda language: model(language).options.encoder),
        ("decoder", "model.decoder", lambda language: model(language).decoder),
        ("decoder", "model.options.decoder", lambda language: model(language).options.decoder),
        ("decoder", "model.embedding.size", lambda language: model(language).embedding.size),
    ]
    for part, key, setting in comparisons:
        for first, language in _group_neighbours(config, part):
            if setting(first) != setting(language):
                yield Problem(
                    ("sharing", part),
                    f"{first} and {language} cannot share while {key} differs between them",
                    related=(tuple(key.split(".")),),
                )
                break


def _group_neighbours(config: Config, part: str) -> Iterator[tuple[str, str]]:
    """Yield the first language of each group with every other one."""
    for members in config.sharing.group_members(part, config.languages):
        for language in members[1:]:
            yield members[0], language


def _vocabulary_settings(config: Config, language: str) -> dict[str, Any]:
    """Return the vocabulary settings without `languages`, which only the common ones have."""
    settings = config.vocabulary.for_language(language)
    return {key: getattr(settings, key) for key in VocabularyConfig.model_fields}
