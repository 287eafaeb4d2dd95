"""What is wrong in a configuration between keys that are each right by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, collect_errors, unknown_name
from polyglot.model.options import OPTIONS
from polyglot.tasks.pairs import LANGUAGE_CODE, LanguagePair, match_pairs
from polyglot.text.vocabulary import VocabularyConfig


def consistency_problems(config: Config) -> Iterator[str]:
    """A sentence for each, beginning with its place and naming every other key that it is between."""
    for language in config.languages:
        if not LANGUAGE_CODE.fullmatch(language):
            yield f"languages: {language!r} is no language code; use letters, digits and underscores, such as 'de' or 'zh_Hans'"
    twice = {language for language in config.languages if config.languages.count(language) > 1}
    if twice:
        yield f"languages: {', '.join(sorted(twice))} named twice"
    for place, languages in (
        ("model.languages", config.model.languages),
        ("vocabulary.languages", config.vocabulary.languages),
        ("text.languages", config.text.languages),
    ):
        for language in languages:
            if language not in config.languages:
                yield f"{place}.{language}: {unknown_name('language', language, config.languages)}"
    yield from config.sharing.problems(config.languages)
    yield from _unlike(config)
    yield from _shared_predictions(config)
    pairs, scored, problems = None, [], []
    if not twice:  # of one language only, a schedule may have no pair
        with collect_errors(problems):
            if not config.tasks:
                problems.append(
                    "schedule: no task is left to train: schedule.exclude takes all of schedule.pairs and schedule.copies"
                )
            with suppress(ConfigError):
                pairs = config.pairs
    problems += [
        f"trained_before: {problem}"
        for problem in _unknown_pairs(config.trained_before, config.languages)
    ]
    for pattern in config.validation.bleu_pairs:
        with collect_errors(problems, "validation.bleu_pairs: "):
            scored += match_pairs([pattern], config.languages)
    yield from problems
    # Where the pairs are not known, there are no more components than those of all.
    every = [LanguagePair(one, other) for one in config.languages for other in config.languages]
    known = config.model.components(pairs or every, config.sharing)
    for place, pattern in [
        *(("freeze", one) for one in config.freeze),
        *(("initialize", one) for one in config.initialize),
    ]:
        if not any(fnmatchcase(name, pattern) for name in known):
            yield f"{place}: {unknown_name('component', pattern, known)}"
    if pairs:
        sources, targets = {pair.source for pair in pairs}, {pair.target for pair in pairs}
        for pair in dict.fromkeys(scored):
            if pair.source not in sources or pair.target not in targets:
                components = f"an encoder of {pair.source} and a decoder of {pair.target}"
                yield f"validation.bleu_pairs: {pair} needs {components}, which no task trains"
    if config.validation.best_by == "bleu" and not config.validation.bleu_pairs:
        yield "validation.best_by: 'bleu' needs validation.bleu_pairs"
    if config.data and not config.data.valid:
        for key in ("bleu_pairs", "best_by", "patience"):
            if getattr(config.validation, key) != type(config.validation).model_fields[key].default:
                yield f"validation.{key}: needs held-out text, and data.valid names no corpus"
    for part in ("valid", "test") if config.data else ():
        for number, corpus in enumerate(getattr(config.data, part)):
            if getattr(corpus, "streaming", False):
                yield f"data.{part}.{number}.streaming: held-out text is not streamed; leave it out"
    if config.parallel.placement == "partitioned" and config.parallel.tasks == "same":
        yield "parallel.placement: 'partitioned' gives each process tasks of its own; it needs parallel.tasks 'mixed', found 'same'"
    if (
        config.parallel.placement == "partitioned"
        and getattr(config.training, "precision", None) == "fp16"
    ):
        yield "parallel.placement: 'partitioned' cannot agree on the scale of 'fp16' losses; use training.precision 'bf16' or 'no'"
    if config.parallel.placement == "partitioned" and config.losses.agreement.weight:
        elsewhere = "the encoder of each target's language, which parallel.placement 'partitioned' may keep on another process"
        yield f"losses.agreement: needs {elsewhere}; use 'replicated', or a weight of 0"
    if config.search.n_best > config.search.beam:
        yield f"search.n_best: {config.search.n_best} hypotheses cannot come from search.beam {config.search.beam}"
    if config.search.select and config.search.select_by == "prediction":
        yield from _nothing_predicted(config, dict.fromkeys(pair.target for pair in pairs or ()))


def _unknown_pairs(pairs: Sequence[str], languages: Sequence[str]) -> Iterator[str]:
    for text in pairs:
        try:
            pair = LanguagePair.parse(text)
            yield from (
                unknown_name("language", one, languages)
                for one in (pair.source, pair.target)
                if one not in languages
            )
        except ConfigError as error:
            yield str(error)


def _shared_predictions(config: Config) -> Iterator[str]:
    """Decoders that are shared, but whose options know the words of one language."""
    for language in config.languages:
        members = config.sharing.members("decoder", language, config.languages)
        beside = [
            option.type
            for option in config.model.for_language(language).options.decoder
            if OPTIONS.get(option.type).place == "decoder"
        ]
        if beside and any(
            config.sharing.group_name("vocabulary", one) != config.sharing.group_name("vocabulary", language)
            for one in members
        ):
            who = " and ".join(members)
            yield f"model.options.decoder: {beside[0]} predicts words, so {who} cannot share a decoder without sharing their vocabulary"
            return


def _nothing_predicted(config: Config, targets: Iterable[str]) -> Iterator[str]:
    """Decoders that cannot choose among which words to search."""
    for language in targets:
        options = (
            option
            for option in config.model.for_language(language).options.decoder
            if OPTIONS.get(option.type).place == "decoder"
        )
        if all(option.predict == "states" for option in options):
            what = f"the decoder of {language} has no word_prediction from its initial state"
            yield f"search.select: {what}; put it on in model.options.decoder, or write search.select_by: shortlist"
            return


def _unlike(config: Config) -> Iterator[str]:
    """Languages that are to share what is set differently for them."""
    for part, place, setting in (
        ("vocabulary", "vocabulary", config.vocabulary.for_language),
        ("embeddings", "model.embedding", lambda language: config.model.for_language(language).embedding),
        ("encoder", "model.encoder", lambda language: config.model.for_language(language).encoder),
        (
            "encoder",
            "model.embedding.size",
            lambda language: config.model.for_language(language).embedding.size,
        ),
        (
            "encoder",
            "model.options.encoder",
            lambda language: config.model.for_language(language).options.encoder,
        ),
        ("decoder", "model.decoder", lambda language: config.model.for_language(language).decoder),
        (
            "decoder",
            "model.options.decoder",
            lambda language: config.model.for_language(language).options.decoder,
        ),
        (
            "decoder",
            "model.embedding.size",
            lambda language: config.model.for_language(language).embedding.size,
        ),
    ):
        for language in config.languages:
            first = config.sharing.members(part, language, config.languages)[0]
            if _common(setting(first)) != _common(setting(language)):
                yield f"sharing.{part}: {first} and {language} cannot share while {place} differs between them"
                break


def _common(settings: Any) -> Any:
    """Settings as a mapping, so that those of all and those of one language compare."""
    return (
        {key: getattr(settings, key) for key in VocabularyConfig.model_fields}
        if isinstance(settings, VocabularyConfig)
        else settings
    )
