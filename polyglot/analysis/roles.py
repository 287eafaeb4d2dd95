"""Which words take which roles: the tables of the role interaction paper (section 6), and their agreement with known senses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any

import numpy
import torch
from torch.nn import functional

from polyglot.analysis.annotated_text import MARK, Sentence, batches, sentences, shown
from polyglot.analysis.clustering import purity, v_measure, v_measures_by_chance
from polyglot.analysis.figures import bars_png
from polyglot.analysis.page import Page, Table, file_name
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.memory import Memory
from polyglot.model.options import apply_preceding
from polyglot.runs.run import Run
from polyglot.tasks.batch import BOS
from polyglot.tasks.pairs import LanguagePair, pair_kind

AROUND = 4  # pieces before and after one in an example
TYPICAL = 8  # words of a role in the table
EXAMPLES = 3  # of a role, in context
OFTEN = 3  # times that a word must have each of two senses to count as ambiguous
DRAWS = 199  # from chance: p comes in steps of 0.005
MEASURES = {"purity": "purity", "v_measure": "V-measure", "by_chance": "by chance", "p": "p"}


@dataclass(frozen=True)
class Taken:
    """A piece in its sentence, and the roles it takes."""

    sentence: Sentence
    place: int
    roles: numpy.ndarray
    """(R,)"""

    @property
    def role(self) -> int:
        """The strongest."""
        return int(self.roles.argmax())

    @property
    def piece(self) -> str:
        return shown(self.sentence.pieces[self.place])

    def in_context(self) -> str:
        """… with the piece itself in brackets."""
        pieces, first = self.sentence.pieces, max(0, self.place - AROUND)
        last = min(len(pieces), self.place + AROUND + 1)
        words = [
            f"[{shown(piece)}]" if place == self.place else shown(piece)
            for place, piece in enumerate(pieces[first:last], start=first)
        ]
        return " ".join([*(["…"] if first else []), *words, *(["…"] if last < len(pieces) else [])])


def roles_page(
    run: Run,
    translator: Translator,
    language: str,
    *,
    side: str = "encoder",
    token: str | None = None,
    into: str | None = None,
    count: int = 500,
) -> Page:
    """The roles of the words of a language; with a token, those that it takes, and how its sentences are translated.

    Raises ConfigError where that side of the language has no roles, DataError for a token that the text does not have.
    """
    found = taken(run, translator, language, side=side, count=count)
    return (
        _of_all(language, side, found)
        if token is None
        else _of_token(run, translator, language, side, found, token=token, into=into)
    )


def taken(run: Run, translator: Translator, language: str, *, side: str, count: int) -> list[Taken]:
    """Every piece of the text with its roles. On the target side a sentence is read as its decoder reads it, after `bos`."""
    components = translator.model.encoders if side == "encoder" else translator.model.decoders
    component = components[language] if language in components else None
    if component is None or "roles" not in component.options:
        having = [name for name, one in components.items() if "roles" in one.options]
        where = f"that of {', '.join(having)} has" if having else f"no {side} of this run has"
        raise ConfigError(f"roles: the {side} of {language} has no roles; {where} some")
    option, result = component.options["roles"], []
    for part, tokens, mask in batches(
        sentences(run, translator, language, count=count), translator.device
    ):
        with torch.inference_mode():
            if side == "encoder":
                words = apply_preceding(component.options, "roles", component.embedding(tokens), mask)
                of_all = option.assign_roles(words, mask)
            else:
                memory = _memory(run, translator, language, tokens, mask)
                tokens, mask = (
                    functional.pad(tokens, (1, 0), value=BOS),
                    functional.pad(mask, (1, 0), value=True),
                )
                words = apply_preceding(
                    component.options, "roles", component.embedding(tokens), mask, memory
                )
                of_all = option.assign_roles(words, mask)[:, 1:]
        result += [
            Taken(one, place, own[place])
            for one, own in zip(part, of_all.float().cpu().numpy())
            for place in range(len(one.ids))
        ]
    return result


def _memory(
    run: Run, translator: Translator, language: str, tokens: torch.Tensor, mask: torch.Tensor
) -> Memory:
    """What a context gate before the roles of a decoder looks at: the sentence itself where its language is read, too, else nothing."""
    if language in translator.model.encoders:
        return translator.model.encode(language, tokens, mask)
    return Memory(torch.zeros(len(tokens), 1, run.config.model.memory_size, device=tokens.device))


def _of_all(language: str, side: str, found: Sequence[Taken]) -> Page:
    by_role: dict[int, list[Taken]] = defaultdict(list)
    for one in found:
        by_role[one.role].append(one)
    size, order = len(found[0].roles), sorted(by_role, key=lambda role: -len(by_role[role]))
    rows, values = [], {}
    for role in order:
        own = by_role[role]
        words = Counter(one.piece for one in own).most_common(TYPICAL)
        examples = [one.in_context() for one in own[:: max(1, len(own) // EXAMPLES)][:EXAMPLES]]
        values[role] = {"count": len(own), "words": dict(words), "examples": examples}
        rows.append(
            [
                str(role),
                f"{len(own) / len(found):.1%}",
                ", ".join(f"{word} ({times})" for word, times in words),
                " · ".join(examples),
            ]
        )
    usage = Table(
        "Roles, the most used first",
        ["role", "share", "typical words", "in context"],
        rows,
        note="A word counts for the strongest of its roles.",
    )
    spread, uniform = _spread(found)
    figures = {
        "roles used": f"{len(by_role)} of {size}",
        "mean entropy of a word's roles": f"{spread:.2f} nats (uniform: {uniform:.2f})"
        if spread is not None
        else "– (no distribution)",
    }
    agreed = agreement(found)
    tables = [
        Table("In short", ["", ""], [[name, value] for name, value in figures.items()]),
        usage,
        *_agreement_tables(agreed),
    ]
    return Page(
        f"roles.{side}.{language}",
        f"Roles of the {side} of {language}",
        tables,
        {
            "pieces": len(found),
            "roles": size,
            "entropy": spread,
            "usage": values,
            "agreement": agreed,
        },
        {
            "How often each role is taken": bars_png(
                [len(by_role.get(role, ())) / len(found) for role in range(size)],
                title=f"Roles of the {side} of {language}",
                of="role",
            )
        },
    )


def _spread(found: Sequence[Taken]) -> tuple[float | None, float]:
    """Mean entropy of the assignments in nats, None where they are no distributions, and that of the uniform one."""
    every = numpy.stack([one.roles for one in found]).astype(numpy.float64)
    uniform = float(numpy.log(every.shape[1]))
    if (every < 0).any() or not numpy.allclose(every.sum(1), 1, atol=1e-3):
        return None, uniform
    return abs(
        float((every * numpy.log(numpy.clip(every, 1e-12, None))).sum(1).mean())
    ), uniform  # the sum is never above 0


def agreement(found: Sequence[Taken]) -> dict[str, Any]:
    """Purity and V-measure of the roles of words whose truth is known; nothing where it is not.

    `category`: all words. `senses`: the words with several senses, by the strongest role, by the word itself, and by both together;
    `of each word`: of the role among the occurrences of one word, where the word itself tells nothing; `mean of each word`, by how
    often each comes. Beside each V-measure stands the mean of those that chance gives, and p, how often it gives as much.
    """
    known = [
        (one, one.sentence.truth[one.sentence.words[one.place]])
        for one in found
        if one.sentence.words is not None and _begins_a_word(one)
    ]
    if not known:
        return {}
    senses: dict[str, Counter[str]] = defaultdict(Counter)
    for _, token in known:
        if token.sense is not None:
            senses[token.text.casefold()][token.sense] += 1
    ambiguous = {
        word for word, own in senses.items() if sum(times >= OFTEN for times in own.values()) > 1
    }
    several = [
        (one, token)
        for one, token in known
        if token.sense is not None and token.text.casefold() in ambiguous
    ]
    random = Random(1)
    result: dict[str, Any] = {
        "category": _measures(
            [one.role for one, _ in known], [token.category for _, token in known], random
        )[0]
    }
    if several:
        labels, words = (
            [token.sense for _, token in several],
            [token.text.casefold() for _, token in several],
        )
        own = [one.role for one, _ in several]
        clusters = {"role": own, "word": words, "word and role": list(zip(words, own))}
        result["senses"] = {
            name: _measures(each, labels, random)[0] for name, each in clusters.items()
        }
        within = {
            word: [(role, sense) for role, sense, other in zip(own, labels, words) if other == word]
            for word in sorted(ambiguous)
        }
        measured = {word: _measures(*zip(*pairs), random) for word, pairs in within.items()}
        result["of each word"] = {
            word: {**own, "times": len(within[word])} for word, (own, _) in measured.items()
        }
        times = [len(pairs) for pairs in within.values()]
        pure, measure = (
            fmean((own[name] for own, _ in measured.values()), times)
            for name in ("purity", "v_measure")
        )
        by_chance = [
            fmean(draws, times) for draws in zip(*(draws for _, draws in measured.values()))
        ]
        result["mean of each word"] = _beside_chance(pure, measure, by_chance)
    return result


def _begins_a_word(one: Taken) -> bool:
    """A word in pieces counts once, by the first."""
    words = one.sentence.words
    return one.place == 0 or words[one.place - 1] != words[one.place]


def _measures(
    clusters: Sequence[Any], labels: Sequence[Any], random: Random
) -> tuple[dict[str, float], list[float]]:
    """Agreement, and the V-measures of chance."""
    by_chance = v_measures_by_chance(clusters, labels, draws=DRAWS, random=random)
    return _beside_chance(
        purity(clusters, labels), v_measure(clusters, labels), by_chance
    ), by_chance


def _beside_chance(pure: float, measure: float, by_chance: Sequence[float]) -> dict[str, float]:
    reached = sum(one >= measure for one in by_chance)
    return {
        "purity": pure,
        "v_measure": measure,
        "by_chance": fmean(by_chance),
        "p": (1 + reached) / (1 + len(by_chance)),
    }


def _agreement_tables(agreed: dict[str, Any]) -> list[Table]:
    if not agreed:
        return []
    rows = [["all words by role, beside their categories", *_shown(agreed["category"])]]
    names = {
        "role": "ambiguous words by role",
        "word": "… by the word itself",
        "word and role": "… by word and role",
    }
    rows += [
        [f"{title}, beside their senses", *_shown(agreed["senses"][name])]
        for name, title in names.items()
        if "senses" in agreed
    ]
    tables = [
        Table(
            "Agreement with the truth",
            ["clusters", *MEASURES.values()],
            rows,
            note="What is known of the phrasebook's words.",
        )
    ]
    if "senses" in agreed:
        words = [
            [word, str(one["times"]), *_shown(one)] for word, one in agreed["of each word"].items()
        ]
        mean = ["mean, by times", "", *_shown(agreed["mean of each word"])]
        note = "By the word itself each V-measure would be 0. By chance: the same roles dealt out at random; p: how often those do as well."
        tables.append(
            Table(
                "Senses of each ambiguous word",
                ["word", "times", *MEASURES.values()],
                [*words, mean],
                note=note,
            )
        )
    return tables


def _shown(measures: dict[str, float]) -> list[str]:
    return [f"{measures[name]:.3f}" for name in MEASURES]


def _of_token(
    run: Run,
    translator: Translator,
    language: str,
    side: str,
    found: Sequence[Taken],
    *,
    token: str,
    into: str | None,
) -> Page:
    """The paper's Table 4. By default translated into the first language that the run was trained for."""
    token = token.removeprefix(MARK)
    own = [one for one in found if one.piece == token]
    if not own:
        raise DataError(
            f"roles: {token!r} is no piece of the text of {language} that was looked at; "
            "name one as the vocabulary has it, or more --sentences"
        )
    by_role: dict[int, list[Taken]] = defaultdict(list)
    for one in own:
        by_role[one.role].append(one)
    chosen = {
        role: all_of_it[:EXAMPLES]
        for role, all_of_it in sorted(by_role.items(), key=lambda item: -len(item[1]))
    }
    texts = list(dict.fromkeys(one.sentence.text for some in chosen.values() for one in some))
    kinds = {
        one: pair_kind(LanguagePair(language, one), run.config.pairs)
        for one in translator.targets
        if one != language
    }
    target = into or min(kinds, key=lambda one: kinds[one] != "supervised", default=None)
    read = target is not None and language in translator.sources
    translations = (
        dict(zip(texts, translator.translate(texts, source=language, target=target)))
        if read
        else {}
    )
    rows = [
        [
            str(role) if not number else "",
            f"{len(by_role[role]) / len(own):.1%}" if not number else "",
            one.in_context(),
            translations.get(one.sentence.text, ""),
        ]
        for role, some in chosen.items()
        for number, one in enumerate(some)
    ]
    values = {
        str(role): {
            "count": len(by_role[role]),
            "examples": [[one.in_context(), translations.get(one.sentence.text)] for one in some],
        }
        for role, some in chosen.items()
    }
    title, size = f"Roles of “{token}”, {side} of {language}", len(own[0].roles)
    zero_shot = ", zero-shot" if kinds.get(target) == "zero-shot" else ""
    head = [
        "role",
        "share",
        "in context",
        f"translated into {target}{zero_shot}" if read else "translation",
    ]
    return Page(
        f"roles.{side}.{language}.{file_name(token)}",
        title,
        [Table(f"{len(own)} times “{token}”", head, rows)],
        {"token": token, "roles": values},
        {
            "How often it takes each role": bars_png(
                [len(by_role.get(role, ())) / len(own) for role in range(size)],
                title=title,
                of="role",
            )
        },
    )
