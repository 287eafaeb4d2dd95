"""HTML as lines to translate: the text of each block, with the places of its inline tags.

All tags stay, and translations are escaped. The content of some elements is not translated.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from html.parser import HTMLParser

from polyglot.serving.documents import Document, Line, Mark
from polyglot.serving.limits import BAD_REQUEST, RequestError

RAW_ELEMENTS = frozenset({"script", "style"})
"""Elements whose content is no HTML."""
UNTRANSLATED_ELEMENTS = RAW_ELEMENTS | {"code", "kbd", "samp", "var"}
VOID_ELEMENTS = frozenset("area base br col embed hr img input link meta source track wbr".split())
"""Elements without an end tag."""
MOST_UNCLOSED = 100
"""Characters `<` without `>`: the time of the parser grows with the square of their number."""
INLINE_ELEMENTS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)
"""Elements inside of a sentence; any other tag ends it."""

Attributes = list[tuple[str, str | None]]


def html_document(text: str) -> Document:
    """Return the lines of HTML. Raises RequestError if the parser cannot read it."""
    unclosed = text.count("<") - text.count(">")
    if unclosed > MOST_UNCLOSED:
        raise RequestError(BAD_REQUEST, f"q: found {unclosed} '<' without '>'; write &lt; in HTML")
    reader = _HtmlReader()
    try:
        reader.feed(text)
        reader.close()
    except AssertionError as error:  # of the parser, about `<![` without a name
        raise RequestError(BAD_REQUEST, f"q: this HTML cannot be read: {error}") from None
    reader.end_block()
    return reader.document


def _escape_text(text: str) -> str:
    return escape(text, quote=False)


class _Markup(str):
    """Part of a block that stays: an inline tag, a comment, an element that is not translated."""

    __slots__ = ()


class _HtmlReader(HTMLParser):
    """Collects the parts of a block until a tag ends it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.document = Document(escape=_escape_text)
        self._block: list[str] = []
        """text, and markup between the text"""
        self._untranslated = ""
        """element whose content stays; empty outside of such elements"""
        self._depth = 0
        """number of open elements with this name"""

    def handle_starttag(self, tag: str, attributes: Attributes) -> None:
        self._add_tag(tag, self.get_starttag_text() or "")
        if tag in VOID_ELEMENTS:
            return
        if not self._untranslated and _stays(tag, attributes):
            self._untranslated = tag
        if tag == self._untranslated:
            self._depth += 1

    def handle_startendtag(self, tag: str, attributes: Attributes) -> None:
        self._add_tag(tag, self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        self._add_tag(tag, f"</{tag}>")
        if tag == self._untranslated:
            self._depth -= 1
            if self._depth == 0:
                self._untranslated = ""

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in RAW_ELEMENTS:
            self._add_markup(data)
        elif self._untranslated:
            self._add_markup(_escape_text(data))
        else:
            self._block.append(data)

    def handle_comment(self, data: str) -> None:
        self._add_markup(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._add_markup(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self._add_markup(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        end = "]]>" if data.startswith("CDATA[") else "]>"
        self._add_markup(f"<![{data}{end}")

    def _add_tag(self, tag: str, text: str) -> None:
        is_inside = tag in INLINE_ELEMENTS or bool(self._untranslated)
        if not is_inside:
            self.end_block()
        self._add_markup(text)
        if not is_inside:
            self.end_block()

    def _add_markup(self, text: str) -> None:
        """Append markup; an element that is not translated is one part with its tags."""
        if self._untranslated and self._block and isinstance(self._block[-1], _Markup):
            text = self._block.pop() + text
        self._block.append(_Markup(text))

    def end_block(self) -> None:
        """Append the block to the document."""
        self.document.parts += _block_parts(self._block)
        self._block = []


def _block_parts(block: Sequence[str]) -> list[str | Line]:
    """Return the parts of a document for a block: what is before its words, a line, and the end."""
    with_words = []
    for number, part in enumerate(block):
        if not isinstance(part, _Markup) and part.strip():
            with_words.append(number)
    if not with_words:
        return list(map(str, block))

    first = with_words[0]
    last = with_words[-1]
    start_text = block[first]
    end_text = block[last]
    start_space = start_text[: len(start_text) - len(start_text.lstrip())]
    end_space = end_text[len(end_text.rstrip()) :]
    return [
        *map(str, block[:first]),
        start_space,
        _line(block[first : last + 1]),
        end_space,
        *map(str, block[last + 1 :]),
    ]


def _line(parts: Sequence[str]) -> Line:
    """Return the words of text, and the places of the markup and spaces between them."""
    texts = [part for part in parts if not isinstance(part, _Markup)]
    words = len("".join(texts).split())
    counts = [0]
    marks = []

    def add_mark(text: str, words_before: int) -> None:
        counts.append(max(words_before, counts[-1]))  # marks keep their order
        marks.append(Mark(text, counts[-1] / words))

    before = ""
    for number, part in enumerate(parts):
        if isinstance(part, _Markup):
            add_mark(str(part), _words_before(part, before))
            continue
        if number > 0 and part[0].isspace():
            add_mark(" ", len(before.split()))
        before += part
        is_last = number + 1 == len(parts)
        if part.strip() and part[-1].isspace() and not is_last:
            add_mark(" ", len(before.split()))
    return Line(" ".join(before.split()), marks)


def _words_before(markup: str, text: str) -> int:
    """Count the words before markup. An opening tag inside of a word is before this word."""
    count = len(text.split())
    is_opening = markup[:1] == "<" and markup[1:2].isalpha() and "</" not in markup
    if is_opening and text and not text[-1].isspace():
        count -= 1
    return count


def _stays(tag: str, attributes: Attributes) -> bool:
    """True for an element whose content is not translated."""
    if tag in UNTRANSLATED_ELEMENTS:
        return True
    values = dict(attributes)
    classes = (values.get("class") or "").split()
    return values.get("translate") == "no" or "notranslate" in classes
