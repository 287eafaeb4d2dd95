"""Which languages share a component, and what components are called for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from polyglot.core.errors import unknown_name
from polyglot.core.registry import ComponentConfig
from polyglot.tasks.pairs import LanguagePair

ALL_LANGUAGES = "all"
GROUP_NAME = re.compile(r"\w+")

Groups = dict[str, list[str]] | Literal["all"]


class SharingConfig(ComponentConfig):
    """Languages that share a component, by the name of their group: `{west: [de, nl]}`, or `all` for one group of everybody."""

    vocabulary: Groups = {}
    """One vocabulary, learnt from the text of all of them."""
    embeddings: Groups = {}
    """One table of words a side, or one for both with `embedding.tie_sides`; needs a shared vocabulary."""
    encoder: Groups = {}
    """One encoder; without shared embeddings each language keeps its own in front of it."""
    decoder: Groups = {}
    """One decoder, which is told the language by a vector of its own in the place of the first word (after Johnson et al. 2017).
    The output layer is shared where the vocabulary is, too."""

    def is_shared(self, part: str, language: str) -> bool:
        """Whether the language has company there, or may get it."""
        groups = getattr(self, part)
        return groups == ALL_LANGUAGES or any(language in members for members in groups.values())

    def group_name(self, part: str, language: str) -> str:
        """The name of the language's group, or that of the language where it is alone."""
        groups = getattr(self, part)
        if groups == ALL_LANGUAGES:
            return ALL_LANGUAGES
        return next((name for name, members in groups.items() if language in members), language)

    def members(self, part: str, language: str, languages: Sequence[str]) -> list[str]:
        """All of these languages that are in its group."""
        return [one for one in languages if self.group_name(part, one) == self.group_name(part, language)]

    def shares_output(self, language: str, *, tied: bool) -> bool:
        """Whether the decoder's group has one output layer. tied: it is the table of embeddings, which then must be one as well."""
        return self.is_shared("decoder", language) and self.is_shared(
            "embeddings" if tied else "vocabulary", language
        )

    def problems(self, languages: Sequence[str]) -> Iterator[str]:
        """What cannot be meant in a run of those languages."""
        for part in SharingConfig.model_fields:
            groups = getattr(self, part)
            named = {} if groups == ALL_LANGUAGES else groups
            for name, members in named.items():
                place = f"sharing.{part}.{name}"
                if not GROUP_NAME.fullmatch(name) or name in languages:
                    yield f"{place}: {name!r} cannot name a group; use letters, digits and underscores, and no name of a language"
                yield from (
                    f"{place}: {unknown_name('language', one, languages)}"
                    for one in members
                    if one not in languages
                )
            everyone = [one for members in named.values() for one in members]
            if twice := sorted({one for one in everyone if everyone.count(one) > 1}):
                yield f"sharing.{part}: {', '.join(twice)} named twice; a language shares with one group"
        for language in languages:
            alike = self.members("embeddings", language, languages)
            if strangers := [
                one
                for one in alike
                if self.group_name("vocabulary", one) != self.group_name("vocabulary", language)
            ]:
                yield f"sharing.embeddings: {language} and {strangers[0]} cannot share embeddings without sharing their vocabulary"
                return


def _everything(value: Any) -> Any:
    """`sharing: all` spelt out."""
    return dict.fromkeys(SharingConfig.model_fields, ALL_LANGUAGES) if value == ALL_LANGUAGES else value


Sharing = Annotated[SharingConfig, BeforeValidator(_everything)]
"""The field of a configuration, in which `all` stands for everything."""


def component_names(pair: LanguagePair, sharing: SharingConfig = SharingConfig()) -> tuple[str, ...]:
    """The names of the components that a direction may use; a model has those of them that have parameters."""
    source, target = (
        sharing.group_name("embeddings", pair.source),
        sharing.group_name("embeddings", pair.target),
    )
    names = (
        f"embedding.{source}",
        f"embedding.{target}",
        f"source_embedding.{source}",
        f"target_embedding.{target}",
        f"encoder.{sharing.group_name('encoder', pair.source)}",
        f"encoder.{pair.source}",
        "bridge",
        f"decoder.{sharing.group_name('decoder', pair.target)}",
        f"decoder.{pair.target}",
    )
    return tuple(dict.fromkeys(names))
