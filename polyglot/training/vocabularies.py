"""Vocabularies of a run, and its symbols (placeholders for names, numbers and acronyms)."""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from polyglot.config.schema import Config
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError, ConfigError, PolyglotError
from polyglot.data.corpora import Corpora
from polyglot.distributed.processes import Processes
from polyglot.runs.run import Run
from polyglot.runs.vocabulary_files import forget_checksums, read_checksums, write_checksums
from polyglot.tasks.pairs import LanguagePair
from polyglot.text.preprocessing import Normaliser
from polyglot.text.symbols import Symbolizer
from polyglot.text.vocabulary import Vocabulary
from polyglot.text.vocabulary_size import is_doubtful_size
from polyglot.training.warm_start import WarmStart

logger = logging.getLogger("polyglot")

SHORT_TEXT = 50_000
"""Largest number of sentences of a short text: learning its vocabulary takes only seconds."""

KEPT_SENTENCES = 500_000
"""Largest number of sentences of short texts that stay in memory together; further texts are read
again."""


def check_vocabularies(run: Run, processes: Processes, *, resuming: bool) -> None:
    """Check that the run directory has all vocabularies, if it must have them at this point.

    A resumed run must have them, because its checkpoint was trained with them. So must every
    process except the first one: the first process writes all vocabularies before the others begin.
    Raises CheckpointError if a vocabulary is missing in one of these cases.
    """
    if not _missing_vocabularies(run):
        return
    if not processes.is_main:
        raise CheckpointError(
            f"{run.path}: process {processes.rank} on {platform.node()} does not see what the "
            "first process has written there; put the run where all machines see the same folder"
        )
    if resuming:
        # Raises CheckpointError, because the checkpoint needs the vocabulary that is missing.
        run.choose_checkpoints("last")


def prepare_vocabularies(
    run: Run,
    corpora: Corpora,
    warm_start: WarmStart | None,
    *,
    resuming: bool,
) -> dict[str, Vocabulary]:
    """Complete the symbols and vocabularies of a run in memory; returns the new vocabularies."""
    config = run.config
    missing = _missing_vocabularies(run)
    if not resuming and not run.symbols_file.is_file():
        run.symbols = learn_symbols(config, corpora, warm_start)

    new = initial_vocabularies(config, corpora, run.normalisers, warm_start, languages=missing)
    vocabularies = {**run.vocabularies, **new}
    run.vocabularies = {language: vocabularies[language] for language in config.languages}
    return new


def save_vocabularies(
    run: Run,
    new_vocabularies: Mapping[str, Vocabulary],
    processes: Processes,
) -> None:
    """Write new vocabularies, and on the first process symbols and checksums, to the run directory.

    Checksums are removed first, so that an interrupted write leaves none that are wrong. They are
    also written if only they are missing.
    """
    must_write_checksums = bool(new_vocabularies) or not read_checksums(run.vocabulary_folder)
    if processes.is_main and must_write_checksums:
        forget_checksums(run.vocabulary_folder)
    for language, vocabulary in new_vocabularies.items():
        vocabulary.save(run.vocabulary_file(language))
    if processes.is_main and must_write_checksums:
        if run.symbols:
            replace_file(run.symbols_file, run.symbols.dictionary.to_json())
        write_checksums(run.vocabulary_folder)


def _missing_vocabularies(run: Run) -> list[str]:
    return [language for language in run.config.languages if language not in run.vocabularies]


def initial_vocabularies(
    config: Config,
    corpora: Corpora,
    normalisers: Mapping[str, Normaliser],
    warm_start: WarmStart | None,
    *,
    languages: Sequence[str],
) -> dict[str, Vocabulary]:
    """Vocabularies of these languages: those of the warm start's components, the rest learnt."""
    inherited = warm_start.vocabularies() if warm_start else {}
    learnt = build_vocabularies(
        config,
        corpora,
        normalisers,
        languages=[language for language in languages if language not in inherited],
    )
    vocabularies = {**learnt, **inherited}
    return {language: vocabularies[language] for language in languages}


def build_vocabularies(
    config: Config,
    corpora: Corpora,
    normalisers: Mapping[str, Normaliser],
    *,
    languages: Sequence[str],
) -> dict[str, Vocabulary]:
    """Learn the vocabulary of each language from its training text.

    Languages that share a vocabulary learn it from the text of all languages of their group.
    Raises ConfigError with all sizes that do not fit their text, DataError for empty text. Short
    texts whose vocabulary size may not fit come first, since this takes little time: impossible
    sizes are reported before any other vocabulary is learnt. Long texts come last.
    """
    language_of_group: dict[str, str] = {}  # any language of the group
    for language in languages:
        group = config.sharing.group_name("vocabulary", language)
        language_of_group.setdefault(group, language)

    texts = _sort_texts(config, corpora, normalisers, language_of_group)
    learnt: dict[str, Vocabulary] = {}
    for texts_of_groups in (texts.doubtful, texts.short, texts.long):
        errors: list[PolyglotError] = []
        for group, text in texts_of_groups.items():
            language = language_of_group[group]
            sentences: Iterable[str] | None = text
            if sentences is None:
                sentences = _group_text(config, corpora, normalisers, language)
            with _append_error(errors):
                learnt[group] = _train_vocabulary(config, sentences, normalisers[language], group)
        _raise_together(errors)
        texts_of_groups.clear()  # frees the sentences

    vocabularies = {}
    for language in languages:
        group = config.sharing.group_name("vocabulary", language)
        vocabularies[language] = learnt[group]
    return vocabularies


@dataclass(frozen=True)
class _Texts:
    """Training texts by group; None for a text that is read again."""

    doubtful: dict[str, list[str] | None] = field(default_factory=dict)
    """short texts that the size may not fit"""
    short: dict[str, list[str] | None] = field(default_factory=dict)
    long: dict[str, list[str] | None] = field(default_factory=dict)


def _sort_texts(
    config: Config,
    corpora: Corpora,
    normalisers: Mapping[str, Normaliser],
    language_of_group: Mapping[str, str],
) -> _Texts:
    """Sort the texts into doubtful, short and long ones.

    Short texts stay in memory, up to KEPT_SENTENCES sentences together.
    """
    texts = _Texts()
    kept_sentences = 0
    for group, language in language_of_group.items():
        text = _group_text(config, corpora, normalisers, language)
        start = list(islice(text, SHORT_TEXT + 1))
        if len(start) > SHORT_TEXT:
            texts.long[group] = None
            continue

        kept_sentences += len(start)
        kept_text = start if kept_sentences <= KEPT_SENTENCES else None
        if _has_doubtful_size(config, start, normalisers[language]):
            texts.doubtful[group] = kept_text
        else:
            texts.short[group] = kept_text
    return texts


def _has_doubtful_size(config: Config, text: Sequence[str], normaliser: Normaliser) -> bool:
    """Return True for a size that may not fit the text, and for an empty text."""
    if not any(map(str.strip, text)):
        return True
    symbols = normaliser.symbols
    return is_doubtful_size(
        text,
        config.vocabulary.for_language(normaliser.language),
        unsplit_pieces=symbols.pieces if symbols else (),
    )


def _train_vocabulary(
    config: Config,
    text: Iterable[str],
    normaliser: Normaliser,
    group: str,
) -> Vocabulary:
    """Learn one vocabulary.

    normaliser: of any language of the group; all languages of a group have the same settings.
    """
    settings = config.vocabulary.for_language(normaliser.language)
    symbols = normaliser.symbols
    vocabulary = Vocabulary.train(
        text,
        settings,
        language=group,
        seed=config.seed,
        unsplit_pieces=symbols.pieces if symbols else (),
    )
    message = f"vocabulary of {group}: {len(vocabulary)} pieces"
    if len(vocabulary) < settings.size and settings.limit == "soft":
        message += f", fewer than vocabulary.size {settings.size}: the text has no more"
    logger.info(message)
    return vocabulary


@contextmanager
def _append_error(errors: list[PolyglotError]) -> Iterator[None]:
    try:
        yield
    except PolyglotError as error:
        errors.append(error)


def _raise_together(errors: Sequence[PolyglotError]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigError(map(str, errors), where="vocabularies")


def learn_symbols(
    config: Config,
    corpora: Corpora,
    warm_start: WarmStart | None,
) -> Symbolizer | None:
    """Learn which names and acronyms match on both sides of the training text.

    The dictionaries of the runs of the warm start are included. None for a run without symbols.
    """
    if config.text.symbols is None:
        return None

    symbolizer = Symbolizer.learn(config.text.symbols, _normalised_pairs(config, corpora))
    components = warm_start.components if warm_start else []
    for older in dict.fromkeys(component.run.symbols for component in components):
        if older:
            dictionary = symbolizer.dictionary.with_older(older.dictionary)
            symbolizer = Symbolizer(config.text.symbols, dictionary)

    _log_symbols(symbolizer)
    return symbolizer


def _log_symbols(symbolizer: Symbolizer) -> None:
    counts = []
    for language, names in sorted(symbolizer.dictionary.names.items()):
        counts.append(f"{len(names)} names in {language}")
    for pair, acronyms in sorted(symbolizer.dictionary.acronyms.items()):
        counts.append(f"{len(acronyms)} acronyms {pair}")
    summary = ", ".join(counts) or "no names and no acronyms are the same on both sides"
    logger.info(f"symbols: {summary}")


def _normalised_pairs(config: Config, corpora: Corpora) -> Iterator[tuple[str, str, str, str]]:
    """Sentence pairs of the training text with their languages, without copy tasks."""
    normalisers = {}
    for language in config.languages:
        normalisers[language] = Normaliser(config.text.for_language(language), language)

    for pair in _unordered_pairs(config):
        if pair.is_copy:
            continue
        source = normalisers[pair.source]
        target = normalisers[pair.target]
        for source_line, target_line in corpora.lines(pair):
            yield (
                source.apply(source_line),
                target.apply(target_line),
                pair.source,
                pair.target,
            )


def _group_text(
    config: Config,
    corpora: Corpora,
    normalisers: Mapping[str, Normaliser],
    language: str,
) -> Iterator[str]:
    """Training text of all languages that share the vocabulary of this one."""
    for member in config.sharing.members("vocabulary", language, config.languages):
        if config.text.symbols is None:
            for sentence in corpora.sentences(member):
                yield normalisers[member].apply(sentence)
        else:
            yield from _symbolized_text(config, corpora, normalisers, member)


def _symbolized_text(
    config: Config,
    corpora: Corpora,
    normalisers: Mapping[str, Normaliser],
    language: str,
) -> Iterator[str]:
    """Training text of a language with symbols, which depend on the other side of each pair."""
    for pair in _unordered_pairs(config):
        if language not in (pair.source, pair.target):
            continue
        if pair.is_copy:
            for sentence, _ in corpora.lines(pair):
                yield normalisers[language].apply(sentence)
            continue

        source = normalisers[pair.source]
        target = normalisers[pair.target]
        side = 0 if language == pair.source else 1
        for source_line, target_line in corpora.lines(pair):
            yield source.apply_to_pair(source_line, target, target_line)[side]


def _unordered_pairs(config: Config) -> list[LanguagePair]:
    """Language pairs of the tasks, with one of the two directions of each."""
    pairs: dict[frozenset[str], LanguagePair] = {}
    for task in config.tasks:
        pairs[frozenset((task.source, task.target))] = task.pair
    return list(pairs.values())
