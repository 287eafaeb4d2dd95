"""Roles of words: tables and figures of the role interaction paper, section 6."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from polyglot.analysis.annotated_text import SPACE_MARK
from polyglot.analysis.figures import bars_png
from polyglot.analysis.page import Page, Table, file_name
from polyglot.analysis.piece_roles import PieceRoles, assign_roles
from polyglot.analysis.role_agreement import agreement, agreement_tables
from polyglot.core.errors import DataError
from polyglot.core.score_tables import NO_VALUE, format_percent
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, pair_kind

TYPICAL_WORDS = 8  # of a role in the table
EXAMPLES = 3  # of a role, in context


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
    """Analyse the roles of all words of a language, or of a single token with translations.

    into: language of the translations of a token. Raises ConfigError if this encoder or decoder
    has no roles, DataError if the text does not contain the token.
    """
    pieces = assign_roles(run, translator, language, side=side, count=count)
    if token is None:
        return usage_page(language, side, pieces)
    token = token.removeprefix(SPACE_MARK)
    occurrences = [piece for piece in pieces if piece.piece == token]
    if not occurrences:
        raise DataError(
            f"roles: the analysed text of {language} has no piece {token!r}; "
            "name a piece of the vocabulary, or analyse more --sentences"
        )
    target = into or _default_target(run, translator, language)
    return _token_page(
        run,
        translator,
        language,
        side,
        occurrences,
        target=target,
    )


def _by_role(pieces: Sequence[PieceRoles]) -> dict[int, list[PieceRoles]]:
    """Group pieces by their strongest role, the most frequent role first."""
    groups: dict[int, list[PieceRoles]] = defaultdict(list)
    for piece in pieces:
        groups[piece.role].append(piece)
    order = sorted(groups, key=lambda role: -len(groups[role]))
    return {role: groups[role] for role in order}


def _shares_png(
    groups: Mapping[int, Sequence[PieceRoles]],
    pieces: Sequence[PieceRoles],
    *,
    title: str,
) -> bytes:
    """Bar chart of the share of each role."""
    shares = []
    for role in range(len(pieces[0].roles)):
        count = len(groups.get(role, ()))
        shares.append(count / len(pieces))
    return bars_png(shares, title=title, x_label="role")


# All words


def usage_page(
    language: str,
    side: str,
    pieces: Sequence[PieceRoles],
) -> Page:
    """Show how often each role is used, typical words, and the agreement with the phrasebook."""
    groups = _by_role(pieces)
    size = len(pieces[0].roles)
    entropy, uniform_entropy = _mean_entropy(pieces)
    entropy_text = f"{NO_VALUE} (not a distribution)"
    if entropy is not None:
        entropy_text = f"{entropy:.2f} nats (uniform: {uniform_entropy:.2f})"
    summary = [
        ["roles used", f"{len(groups)} of {size}"],
        ["mean entropy of the roles of a word", entropy_text],
    ]

    counts = Counter(piece.piece for piece in pieces)
    usage = {role: _usage(group, counts) for role, group in groups.items()}
    agreement_values = agreement(pieces)
    tables = [
        Table("Summary", ["", ""], summary),
        _usage_table(usage, total=len(pieces)),
        *agreement_tables(agreement_values),
    ]
    values = {
        "pieces": len(pieces),
        "roles": size,
        "entropy": entropy,
        "usage": usage,
        "agreement": agreement_values,
    }
    title = f"Roles of the {side} of {language}"
    pictures = {"Share of each role": _shares_png(groups, pieces, title=title)}
    return Page(f"roles.{side}.{language}", title, tables, values, pictures)


def _usage(group: Sequence[PieceRoles], counts: Mapping[str, int]) -> dict[str, Any]:
    """Count, typical words and examples of one role. counts: of each word in all roles."""
    counts_of_role = Counter(piece.piece for piece in group)
    associations = {}
    for word, count in counts_of_role.items():
        associations[word] = association(
            count,
            counts[word],
            len(group),
            sum(counts.values()),
        )
    # The sort is stable: words of equal association stay in the order of their counts.
    typical = []
    for word, count in counts_of_role.most_common():
        if associations[word] >= 0:
            typical.append((word, count))
    typical.sort(key=lambda item: -associations[item[0]])
    words = dict(typical[:TYPICAL_WORDS])

    step = max(1, len(group) // EXAMPLES)
    examples = [piece.in_context() for piece in group[::step][:EXAMPLES]]
    return {
        "count": len(group),
        "words": words,
        "association": {word: associations[word] for word in words},
        "examples": examples,
    }


def association(both: int, of_word: int, of_role: int, total: int) -> float:
    """Log-likelihood ratio of a word and a role (Dunning 1993), negative if they avoid each other.

    both: occurrences of the word with the role. of_word, of_role: all occurrences of each.
    """
    table = (
        (both, of_word * of_role),
        (of_word - both, of_word * (total - of_role)),
        (of_role - both, (total - of_word) * of_role),
        (total - of_word - of_role + both, (total - of_word) * (total - of_role)),
    )
    ratio = 0.0
    for observed, product in table:
        if observed:
            ratio += 2 * observed * math.log(observed * total / product)
    is_attracted = both * total >= of_word * of_role
    ratio = max(0.0, ratio)  # rounding
    return ratio if is_attracted else -ratio


def _usage_table(usage: Mapping[int, Mapping[str, Any]], *, total: int) -> Table:
    rows = []
    for role, values in usage.items():
        share = values["count"] / total
        words = [f"{word} ({count})" for word, count in values["words"].items()]
        examples = " · ".join(values["examples"])
        rows.append([str(role), format_percent(share), ", ".join(words), examples])
    return Table(
        "Roles, the most frequent first",
        ["role", "share", "typical words", "in context"],
        rows,
        note=(
            "Each word counts for its strongest role, the largest |r|. Typical words have the "
            "largest log-likelihood ratio (Dunning 1993); their counts are in brackets."
        ),
    )


def _mean_entropy(pieces: Sequence[PieceRoles]) -> tuple[float | None, float]:
    """Mean entropy of the role assignments, and entropy of the uniform distribution, in nats.

    The mean is None if the assignments are not distributions.
    """
    roles = numpy.stack([piece.roles for piece in pieces]).astype(numpy.float64)
    uniform_entropy = float(numpy.log(roles.shape[1]))
    is_negative = (roles < 0).any()
    sums_to_one = numpy.allclose(roles.sum(1), 1, atol=1e-3)
    if is_negative or not sums_to_one:
        return None, uniform_entropy
    logarithms = numpy.log(numpy.clip(roles, 1e-12, None))
    negative_entropy = float((roles * logarithms).sum(1).mean())
    return abs(negative_entropy), uniform_entropy  # the sum is never above 0


# A single token


def _token_page(
    run: Run,
    translator: Translator,
    language: str,
    side: str,
    occurrences: Sequence[PieceRoles],
    *,
    target: str | None,
) -> Page:
    """Show the roles of one token with examples and their translations (table 4 of the paper)."""
    token = occurrences[0].piece
    groups = _by_role(occurrences)
    examples = {role: group[:EXAMPLES] for role, group in groups.items()}
    translations: dict[str, str] = {}
    column = "translation"
    if target is not None and language in translator.sources:
        texts = []
        for group in examples.values():
            texts += [piece.sentence.text for piece in group]
        translations = _translate(translator, texts, language, target)
        column = f"translated into {target}"
        if _is_zero_shot(run, language, target):
            column += ", zero-shot"

    rows = []
    values = {}
    for role, group in examples.items():
        share = len(groups[role]) / len(occurrences)
        heading = [str(role), format_percent(share)]
        contexts = []
        for piece in group:
            translation = translations.get(piece.sentence.text)
            contexts.append([piece.in_context(), translation])
            rows.append([*heading, piece.in_context(), translation or ""])
            heading = ["", ""]  # role and share only in the first row
        values[str(role)] = {"count": len(groups[role]), "examples": contexts}

    title = f"Roles of “{token}”, {side} of {language}"
    head = ["role", "share", "in context", column]
    return Page(
        f"roles.{side}.{language}.{file_name(token)}",
        title,
        [Table(f"{len(occurrences)} times “{token}”", head, rows)],
        {"token": token, "roles": values},
        {"Share of each role": _shares_png(groups, occurrences, title=title)},
    )


def _translate(
    translator: Translator,
    texts: Sequence[str],
    language: str,
    target: str,
) -> dict[str, str]:
    """Translation of each different text."""
    different = list(dict.fromkeys(texts))
    lines = translator.translate(different, source=language, target=target)
    return dict(zip(different, lines))


def _default_target(
    run: Run,
    translator: Translator,
    language: str,
) -> str | None:
    """First language that the run was trained to translate into, else any other; None without."""
    targets = [target for target in translator.targets if target != language]
    for target in targets:
        if pair_kind(LanguagePair(language, target), run.config.pairs) == "supervised":
            return target
    return targets[0] if targets else None


def _is_zero_shot(
    run: Run,
    language: str,
    target: str,
) -> bool:
    return pair_kind(LanguagePair(language, target), run.config.pairs) == "zero-shot"
