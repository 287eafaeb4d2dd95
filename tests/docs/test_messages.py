"""The messages on the page of error messages are those of the source."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "use" / "troubleshooting.md"
MESSAGE = re.compile(r"^\| (`.+?`)(?:, and then (`.+?`))? \| ", re.MULTILINE)


def messages() -> list[str]:
    result = []
    for match in MESSAGE.finditer(PAGE.read_text(encoding="utf-8")):
        result += [message.strip("`") for message in match.groups() if message]
    return result


@pytest.fixture(scope="module")
def constant_texts() -> set[str]:
    """Constant parts of the strings in the package, cut where a message template has a value."""
    texts: set[str] = set()
    for path in (ROOT / "polyglot").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for text in re.split(r"[{}`;]+", node.value):
                    texts.add(text.strip(" .,;:()'"))
    return {text for text in texts if len(text) >= 5 and " " in text}


@pytest.mark.parametrize("message", messages())
def test_words_of_the_message_are_in_the_source(message, constant_texts):
    """Examples of names and numbers are not in the source, all else is."""
    values = re.sub(r"\S*[/.'_:0-9…()]\S*|\b\w{1,2}\b", " ", message)
    rest = message
    for text in sorted(constant_texts, key=len, reverse=True):
        rest = rest.replace(text, " ")
    words = set(re.findall(r"[A-Za-z]{3,}", values)) & set(re.findall(r"[A-Za-z]{3,}", rest))
    assert len(words) <= 4, f"not in the source: {sorted(words)}"
