"""The documentation pages, their fenced blocks and the `polyglot` commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = "README.md"
TUTORIAL = "docs/use/tutorial.md"
HUB = "docs/use/hub.md"
"""Page whose commands need a server; tests/publishing/test_hub_page.py runs them."""
SERVE = "docs/use/serve.md"
"""Page whose requests need a server; tests/serving/test_serve_page.py sends them."""
RECIPES = [f"docs/develop/{name}.md" for name in ("encoder", "option", "loss", "corpus", "metric")]
"""Pages that add a component."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w/]+\.(?:yaml|py))\b")
"""First line of a block that is a file of this name."""


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file_name(self) -> str | None:
        match = FILE_NAME.match(self.text)
        return match[1] if match else None

    def run(self) -> dict[str, object]:
        """Execute a Python block; returns its names."""
        names: dict[str, object] = {"__name__": "example"}
        code = compile(self.text, str(self), "exec", flags=0, dont_inherit=True)
        exec(code, names)  # noqa: S102
        return names


@dataclass(frozen=True)
class Command:
    """One call of `polyglot` in a block."""

    block: Block
    arguments: tuple[str, ...]
    stdin: str | None

    def __str__(self) -> str:
        return f"{self.block.page}: {shlex.join(self.arguments)}"


def blocks(*languages: str, page: str | None = None) -> list[Block]:
    """Blocks in these languages, of all pages or of one."""
    result = []
    for path in PAGES:
        name = path.relative_to(ROOT).as_posix()
        if page not in (None, name):
            continue
        text = path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text[: match.start()].count("\n") + 1
            if match[1] in languages:
                result.append(Block(name, line, match[1], match[2]))
    return result


def parse_command(block: Block, line: str) -> Command | None:
    words = shlex.split(line, comments=True)
    if not words or words[0] != "polyglot":
        return None
    redirections = [number for number, word in enumerate(words) if word in ("<", ">", "|")]
    end = redirections[0] if redirections else len(words)
    stdin = words[words.index("<") + 1] if "<" in words else None
    return Command(block, tuple(words[1:end]), stdin)


def commands(page: str | None = None) -> list[Command]:
    """`polyglot` commands of `bash` blocks, in their order."""
    result = []
    for block in blocks("bash", page=page):
        for line in block.text.replace("\\\n", " ").splitlines():
            command = parse_command(block, line)
            if command is not None:
                result.append(command)
    return result


def inline_commands() -> Iterator[Command]:
    """Complete commands inside sentences: no placeholder such as NAME, and more than a verb."""
    for path in PAGES:
        name = path.relative_to(ROOT).as_posix()
        for shown in re.findall(r"`(polyglot [^`]+)`", path.read_text(encoding="utf-8")):
            words = shlex.split(shown)
            has_placeholder = any(word.isupper() or "…" in word for word in words)
            if len(words) > 2 and not has_placeholder:
                yield Command(Block(name, 0, "in a sentence", shown), tuple(words[1:]), None)
