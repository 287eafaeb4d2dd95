"""Vocabularies and symbols of a run, built from its training text."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from polyglot.config.schema import Config
from polyglot.data.corpora import Corpora
from polyglot.tasks.pairs import LanguagePair
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import Symbolizer
from polyglot.text.vocabulary import Vocabulary
from polyglot.training.warm_start import WarmStart

logger = logging.getLogger("polyglot")


def learn_symbols(config: Config, corpora: Corpora, initial: WarmStart | None) -> Symbolizer | None:
    """What the training text shows to match, besides what the runs know that components start from; None for a run without symbols."""
    if config.text.symbols is None:
        return None
    normalisers = {
        language: Normaliser(config.text.for_language(language), language) for language in config.languages
    }
    pairs = (
        (
            normalisers[pair.source].apply(line),
            normalisers[pair.target].apply(other),
            pair.source,
            pair.target,
        )
        for pair in _unordered(config)
        if not pair.is_copy
        for line, other in corpora.lines(pair)
    )
    learnt = Symbolizer.learn(config.text.symbols, pairs)
    older = [source.run.symbols for source in initial.sources] if initial else []
    for one in dict.fromkeys(filter(None, older)):
        learnt = Symbolizer(config.text.symbols, learnt.dictionary.with_older(one.dictionary))
    known, acronyms = learnt.dictionary.names, learnt.dictionary.acronyms
    found = [f"{len(own)} names in {language}" for language, own in sorted(known.items())]
    found += [f"{len(own)} acronyms {pair}" for pair, own in sorted(acronyms.items())]
    logger.info(
        f"symbols: {', '.join(found) or 'no names and no acronyms are the same on both sides'}"
    )
    return learnt


def _unordered(config: Config) -> list[LanguagePair]:
    """The pairs of the tasks, of two directions one."""
    return list(
        {frozenset((task.source, task.target)): task.pair for task in config.tasks}.values()
    )


def _texts(
    config: Config, corpora: Corpora, normalisers: Mapping[str, Normaliser], language: str
) -> Iterator[str]:
    """The training text of a language as its vocabulary will get it; with symbols that is what each of its pairs makes of it."""
    if config.text.symbols is None:
        yield from (
            normalisers[language].apply(sentence) for sentence in corpora.sentences(language)
        )
        return
    for pair in _unordered(config):
        if pair.is_copy and pair.source == language:
            yield from (normalisers[language].apply(line) for line, _ in corpora.lines(pair))
        elif language in (pair.source, pair.target):
            source, target = normalisers[pair.source], normalisers[pair.target]
            side = 0 if language == pair.source else 1
            yield from (
                source.pair(line, target, other)[side] for line, other in corpora.lines(pair)
            )


def build_vocabularies(
    config: Config,
    corpora: Corpora,
    normalisers: Mapping[str, Normaliser],
    *,
    languages: Sequence[str],
) -> dict[str, Vocabulary]:
    """Learn the vocabulary of each of these languages from its training text, or that of all who share it."""
    learnt: dict[str, Vocabulary] = {}
    for language in languages:
        group = config.sharing.group_name("vocabulary", language)
        if group not in learnt:
            members = config.sharing.members("vocabulary", language, config.languages)
            texts = (
                sentence
                for one in members
                for sentence in _texts(config, corpora, normalisers, one)
            )
            symbols = normalisers[language].symbols
            given = {
                "language": group,
                "seed": config.seed,
                "whole": symbols.pieces if symbols else (),
            }
            learnt[group] = Vocabulary.train(texts, config.vocabulary.for_language(language), **given)
            logger.info(f"vocabulary of {group}: {len(learnt[group])} pieces")
    return {
        language: learnt[config.sharing.group_name("vocabulary", language)] for language in languages
    }


def initial_vocabularies(
    config: Config,
    corpora: Corpora,
    normalisers: Mapping[str, Normaliser],
    initial: WarmStart | None,
    *,
    languages: Sequence[str],
) -> dict[str, Vocabulary]:
    """The vocabularies of these languages: those that components of other runs come with, and the rest learnt."""
    given = initial.vocabularies() if initial else {}
    learnt = build_vocabularies(
        config,
        corpora,
        normalisers,
        languages=[language for language in languages if language not in given],
    )
    return {
        language: given[language] if language in given else learnt[language]
        for language in languages
    }
