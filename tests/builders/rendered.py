"""Pages as a reader of Markdown sees them."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token

MARKDOWN_TEXT = (
    "a|b <script>alert(1)</script> *x* **y** _z_ a_b ~~c~~ `d` [e](f) ![g](h) &lt; C# \\ \\| > i"
)
"""A name of which no part is to be taken for Markdown or HTML."""


def parse_tokens(page: str) -> list[Token]:
    """What a page is made of, as CommonMark with the tables and the struck text of GitHub."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)


def visible_texts(page: str) -> list[str]:
    """The text of each heading, paragraph, item and cell; of a picture what is said in its
    place.
    """

    def said(part: Token) -> str:
        return "".join(map(said, part.children)) if part.children else part.content

    return [said(one) for one in parse_tokens(page) if one.type == "inline"]


def token_types(page: str) -> set[str]:
    """Kinds of what is more than text."""
    return {part.type for one in parse_tokens(page) for part in (one, *(one.children or ()))}
