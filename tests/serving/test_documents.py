"""Lines of plain text and of HTML, and what is between them."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.serving.documents import text_document
from polyglot.serving.limits import RequestError
from polyglot.serving.markup import html_document

LINES = st.lists(
    st.sampled_from(["Ein Hund.", " ", "\n", "\r\n", "\t", "a\u2028b", "", "\x0b", "犬"])
)
MARKUP = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<b>",
            "</b>",
            "<a href='x?a&amp;b'>",
            "</a>",
            "<br/>",
            "<img src=x>",
            "Hund",
            " ",
            " die Katze ",
            "<!-- k -->",
            "<code>",
            "</code>",
            "<script>",
            "</script>",
            "&lt;",
            "&amp;",
            "<",
            ">",
            "<![",
            "<?x",
            "</",
            "&",
            "<span translate=no>",
            "</span>",
        ]
    ),
    max_size=12,
).map("".join)


class TagReader(HTMLParser):
    """Lists tags, and joins the text outside of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")

    def handle_data(self, data):
        self.text += data


@given(LINES.map("".join))
def test_plain_text_is_unchanged_if_no_line_is_translated(text):
    document = text_document(text)
    assert document.join(document.lines) == text
    for line in document.lines:
        assert line == line.strip() != ""
        assert "\n" not in line


def test_line_breaks_and_indents_stay():
    document = text_document("  eins\r\n\n zwei drei \n")
    assert document.lines == ["eins", "zwei drei"]
    assert document.join(["ONE", "TWO"]) == "  ONE\r\n\n TWO \n"


@settings(max_examples=200)
@given(MARKUP)
def test_html_has_the_same_tags_in_order_and_the_same_words(html):
    try:
        document = html_document(html)
    except RequestError:
        return
    before = TagReader(html)
    after = TagReader(document.join(document.lines))
    assert after.tags == before.tags
    assert "".join(after.text.split()) == "".join(before.text.split())


@given(st.text(alphabet="<>&'\"/ab ", max_size=20))
def test_translations_are_escaped_in_html(translation):
    for html in ("<p>eins</p>", "<p>eins <b>zwei</b> drei</p>"):
        document = html_document(html)
        reader = TagReader(document.join([translation]))
        assert reader.tags == TagReader(html).tags


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Der alte <b>Bauer</b> schläft.</p>", "<p>DER ALTE <b>BAUER</b> SCHLÄFT.</p>"),
        ("eins <code>x &lt; y</code> zwei", "EINS <code>x &lt; y</code> ZWEI"),
        ("go (<b>one</b> two)", "GO <b>(ONE</b> TWO)"),
        ("<p translate=no>nicht <b>das</b></p> das", "<p translate=no>nicht <b>das</b></p> DAS"),
        ("<ul><li>eins<li>zwei\n drei</ul>", "<ul><li>EINS<li>ZWEI DREI</ul>"),
        ("<script>a < b</script>", "<script>a < b</script>"),
        ("eins <![CDATA[x]]> zwei", "EINS <![CDATA[x]]> ZWEI"),
        ("eins <![if IE]>zwei<![endif]>", "EINS <![if IE]>ZWEI<![endif]>"),
    ],
)
def test_inline_tags_are_inside_of_a_line(html, expected):
    document = html_document(html)
    assert document.join([line.upper() for line in document.lines]) == expected


def test_inline_tags_keep_their_share_of_a_translation_with_other_words():
    document = html_document("Der alte <b>Bauer</b> schläft.")
    assert document.lines == ["Der alte Bauer schläft."]
    assert document.join(["dort"]).strip() == "<b>dort</b>"
    assert document.join(["Le vieux paysan dort bien ici ."]).count("<b>") == 1
    assert document.join(["老农夫睡"], with_spaces=False) == "老农<b>夫</b>睡"


def test_html_that_would_take_the_parser_minutes_is_refused():
    with pytest.raises(RequestError, match="3000 '<' without '>'"):
        html_document("<a " * 3000)
