"""Report on a cleaned text, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from polyglot.core.markdown import code_span, escape, table
from polyglot.data.cleaned_files import CleanedNames, Examples
from polyglot.data.cleaning import RULES, CleaningSettings, RemovedRows

LONGEST_EXAMPLE = 200
"""Characters of a line that the report shows."""


def cleaning_report(
    removed: RemovedRows,
    settings: CleaningSettings,
    names: CleanedNames,
    *,
    sources: Sequence[Path],
    examples: Examples,
) -> str:
    """Write the report. sources: files of the text. examples: some removed rows of each rule."""
    total = len(removed.codes)
    kept = removed.kept_count
    files = ", ".join(code_span(str(path)) for path in sources)
    sections = [
        f"# {escape(names.stem)}, cleaned",
        f"{kept:,} of {total:,} rows are kept; {total - kept:,} are removed. Text: {files}.",
        "## Rules",
        "A row counts for the first rule that removes it, in the order of this table.",
        _rule_table(removed),
        "## Settings",
        table(["setting", "value"], _settings_rows(settings), words=["value"]),
        "## Examples",
        *_example_sections(names.languages, examples),
        "## Undo",
        f"All removed rows are in {code_span(names.removed)}: row number, rule and text. "
        "This command, called in this folder, writes the text as it was:",
        f"```bash\npolyglot clean {quote(names.removed)} --undo --output restored\n```",
    ]
    return "\n\n".join(sections)


def removed_shares(removed: RemovedRows) -> Mapping[str, tuple[int, float]]:
    """Number and share of the rows that each rule removes."""
    shares = {}
    for rule, count in removed.counts().items():
        shares[rule] = (count, count / len(removed.codes))
    return shares


def _rule_table(removed: RemovedRows) -> str:
    rows = []
    for rule, (count, share) in removed_shares(removed).items():
        rows.append([rule, f"{count:,}", f"{share:.2%}", RULES[rule]])
    return table(["rule", "rows", "share", "removes"], rows, words=["removes"])


def _settings_rows(settings: CleaningSettings) -> list[list[object]]:
    filters = settings.filters
    return [
        ["unit of lengths", settings.unit],
        ["--min-length", filters.min_length],
        ["--max-length", filters.max_length],
        ["--max-ratio", filters.max_ratio],
        ["--min-letters", settings.min_letters],
        ["duplicates", "removed" if filters.remove_duplicates else "kept"],
        ["near duplicates", "removed" if settings.near_duplicates else "kept"],
        ["--max-other-language", _or_off(filters.max_other_language)],
        ["--margin", _or_off(settings.margin)],
    ]


def _or_off(value: float | None) -> float | str:
    return "off" if value is None else value


def _example_sections(languages: Sequence[str], examples: Examples) -> list[str]:
    sections = []
    for rule, rows in examples.items():
        if not rows:
            continue
        cells = []
        for number, texts in rows:
            shown = [escape(text[:LONGEST_EXAMPLE]) for text in texts]
            cells.append([number, *shown])
        sections.append(f"### {rule}")
        sections.append(table(["row", *languages], cells, words=languages))
    return sections or ["No row is removed."]
