"""Sharing groups: languages that share a component, and the names of components."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from polyglot.core.errors import unknown_names
from polyglot.core.problems import Problem
from polyglot.core.registry import ComponentConfig
from polyglot.tasks.pairs import LanguagePair

ALL_LANGUAGES = "all"
GROUP_NAME = re.compile(r"\w+")

Groups = dict[str, list[str]] | Literal["all"]


class SharingConfig(ComponentConfig):
    """Sharing groups of each kind of component: `{west: [de, nl]}`, or `all` for a single group."""

    vocabulary: Groups = {}
    """One vocabulary, learnt from the text of all languages of the group."""
    embeddings: Groups = {}
    """One embedding table per side, or one for both sides with `embedding.tie_sides`.
    Needs a shared vocabulary."""
    encoder: Groups = {}
    """One encoder; without shared embeddings, each language has its own embedding before it."""
    decoder: Groups = {}
    """One decoder. A vector of the target language replaces the embedding of the first word (after
    Johnson et al. 2017). The output layer is shared if the vocabulary is shared too."""

    def is_shared(self, part: str, language: str) -> bool:
        """Return True if the language is in a group, even if it is the only member so far."""
        groups = getattr(self, part)
        if groups == ALL_LANGUAGES:
            return True
        return any(language in members for members in groups.values())

    def group_name(self, part: str, language: str) -> str:
        """Return the name of the language's group, or the language if it is in no group."""
        groups = getattr(self, part)
        if groups == ALL_LANGUAGES:
            return ALL_LANGUAGES
        for name, members in groups.items():
            if language in members:
                return name
        return language

    def members(self, part: str, language: str, languages: Sequence[str]) -> list[str]:
        """Return all of `languages` in the group of `language`, including itself."""
        group = self.group_name(part, language)
        return [member for member in languages if self.group_name(part, member) == group]

    def group_names(self, part: str, languages: Iterable[str]) -> dict[str, str]:
        """Return the group of each language, or the language itself; in linear time."""
        groups = getattr(self, part)
        if groups == ALL_LANGUAGES:
            return dict.fromkeys(languages, ALL_LANGUAGES)
        names: dict[str, str] = {}
        for name, members in groups.items():
            for member in members:
                names.setdefault(member, name)
        return {language: names.get(language, language) for language in languages}

    def group_members(self, part: str, languages: Sequence[str]) -> list[list[str]]:
        """Return the languages of each group, in the order of the languages."""
        members: dict[str, list[str]] = {}
        for language, group in self.group_names(part, languages).items():
            members.setdefault(group, []).append(language)
        return list(members.values())

    def shares_output(self, language: str, *, tied: bool) -> bool:
        """Return True if the group of the decoder has one output layer.

        tied: the output layer is the embedding table, which must be shared then.
        """
        if not self.is_shared("decoder", language):
            return False
        if tied:
            return self.is_shared("embeddings", language)
        return self.is_shared("vocabulary", language)

    def problems(self, languages: Sequence[str]) -> Iterator[Problem]:
        """Yield the problems of the groups in a run of these languages."""
        for part in SharingConfig.model_fields:
            groups = getattr(self, part)
            if groups != ALL_LANGUAGES:
                yield from _group_problems(part, groups, languages)
        yield from self._vocabulary_problems(languages)

    def _vocabulary_problems(self, languages: Sequence[str]) -> Iterator[Problem]:
        """Yield the first two languages that share embeddings but not their vocabulary."""
        vocabularies = self.group_names("vocabulary", languages)
        for members in self.group_members("embeddings", languages):
            first = members[0]
            for member in members:
                if vocabularies[member] != vocabularies[first]:
                    yield Problem(
                        ("sharing", "embeddings"),
                        f"{first} and {member} cannot share embeddings "
                        "without sharing their vocabulary",
                    )
                    return


def _group_problems(
    part: str,
    groups: Mapping[str, Sequence[str]],
    languages: Sequence[str],
) -> Iterator[Problem]:
    """Yield invalid group names, unknown languages, and languages in several groups."""
    known_languages = set(languages)
    grouped_languages: list[str] = []
    for name, members in groups.items():
        path = ("sharing", part, name)
        if not GROUP_NAME.fullmatch(name) or name in known_languages:
            yield Problem(
                path,
                f"{name!r} cannot name a group; "
                "use letters, digits and underscores, and no name of a language",
            )
        unknown = [member for member in members if member not in known_languages]
        for member, message in unknown_names("language", unknown, languages):
            yield Problem(path, message, languages=(member,))
        grouped_languages += members

    counts = Counter(grouped_languages)
    repeated = [language for language, count in counts.items() if count > 1]
    if repeated:
        names = ", ".join(sorted(repeated))
        message = f"{names} named twice; a language shares with one group"
        yield Problem(("sharing", part), message)


def _expand_all(value: Any) -> Any:
    """Replace `sharing: all` by `all` for every kind of component."""
    if value == ALL_LANGUAGES:
        return dict.fromkeys(SharingConfig.model_fields, ALL_LANGUAGES)
    return value


Sharing = Annotated[SharingConfig, BeforeValidator(_expand_all)]
"""Type of the configuration field, which also accepts `all`."""


def component_names(
    pair: LanguagePair,
    sharing: SharingConfig = SharingConfig(),
) -> tuple[str, ...]:
    """Return the names of the components that a pair may use.

    A model has only those with parameters.
    """
    source_embeddings = sharing.group_name("embeddings", pair.source)
    target_embeddings = sharing.group_name("embeddings", pair.target)
    encoder = sharing.group_name("encoder", pair.source)
    decoder = sharing.group_name("decoder", pair.target)
    names = (
        f"embedding.{source_embeddings}",
        f"embedding.{target_embeddings}",
        f"source_embedding.{source_embeddings}",
        f"target_embedding.{target_embeddings}",
        f"encoder.{encoder}",
        f"encoder.{pair.source}",
        "bridge",
        f"decoder.{decoder}",
        f"decoder.{pair.target}",
    )
    return tuple(dict.fromkeys(names))
