"""Any request gets JSON: an answer, or an error of the client in a sentence; no traceback."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyglot.serving.specification import REQUESTS

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        ["de", "fr", "auto", "text", "html", "\ud800", "\x00", "<![", "a. b.\n\nc", "犬"]
    )
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
TEXTS = st.text(max_size=30) | st.text(alphabet="ab .?<>&/\n\r\0\ud800\udfff犬\u2028é", max_size=30)
"""Also with half characters (lone surrogates), which no text has but JSON can."""
USUAL = {
    "q": TEXTS | st.lists(TEXTS, max_size=3) | st.sampled_from(["ein Hund", "<b>ein</b> Hund"]),
    "source": st.sampled_from(["de", "en", "auto", "ger", "xx"]),
    "target": st.sampled_from(["fr", "de", "FR", ""]),
    "format": st.sampled_from(["text", "html"]),
    "alternatives": st.integers(-1, 4),
    "count": st.integers(-1, 4),
    "pivot": st.sampled_from(["en", None, "de"]),
    "translation": TEXTS,
    "pooling": st.sampled_from(["flat", "mean"]),
    "normalize": st.booleans(),
}
VALID = {
    "/translate": {"q": "ein Hund", "source": "de", "target": "fr"},
    "/detect": {"q": "ein Hund"},
    "/hypotheses": {"q": "ein Hund", "source": "de", "target": "fr"},
    "/score": {"q": "ein Hund", "translation": "un chien", "source": "de", "target": "fr"},
    "/embed": {"q": "ein Hund", "source": "de"},
    "/attention": {"q": "ein Hund", "source": "de"},
}


@st.composite
def messages(draw: st.DrawFn, path: str) -> dict[str, object]:
    """A valid message of which some fields have usual or any values, and one may be missing."""
    message = dict(VALID[path])
    fields = REQUESTS[path][1].model_fields
    for name in draw(st.sets(st.sampled_from(sorted(fields)), max_size=2)):
        message[name] = draw(USUAL[name] | VALUES)
    if draw(st.integers(0, 5)) == 0:
        message.pop(draw(st.sampled_from(sorted(message))))
    return message


REQUEST_SETTINGS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def check(response) -> None:
    """The property: 200 or an error of the client, always JSON."""
    assert response.status_code == 200 or 400 <= response.status_code < 500, response.text
    answer = response.json()
    if response.status_code != 200:
        assert list(answer) == ["error"]
        assert answer["error"]
        assert "Traceback" not in answer["error"]


@pytest.mark.parametrize("path", REQUESTS)
def test_valid_messages_are_answered(path, client):
    assert VALID.keys() == REQUESTS.keys()
    assert client.post(path, json=VALID[path]).status_code == 200


@pytest.mark.parametrize("path", REQUESTS)
@REQUEST_SETTINGS
@given(data=st.data())
def test_any_json(path, data, client):
    """In ASCII, so that half characters can be sent. Python also writes and reads NaN."""
    message = data.draw(messages(path) | VALUES)
    content = json.dumps(message).encode("ascii")
    check(client.post(path, content=content, headers={"content-type": "application/json"}))


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "text/plain; charset=utf-16",
        "é;=;",
    ],
)
@REQUEST_SETTINGS
@given(
    content=st.binary(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                b"--x",
                b"\r\n",
                b'Content-Disposition: form-data; name="q"',
                b"--",
                b"q=a",
                b"&",
                b"%ff",
                b"source=de",
                b"target=fr",
                b"\x00",
                b'{"q":',
                b'"a"}',
            ]
        )
    ).map(b"".join)
)
def test_any_content(content_type, content, client):
    headers = {"content-type": content_type.encode("latin-1")}
    check(client.post("/translate", content=content, headers=headers))


@REQUEST_SETTINGS
@given(
    path=st.text(alphabet="abc/.%?#\\é0", max_size=20),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]),
)
def test_any_address(path, method, client):
    response = client.request(method, f"http://testserver/{path}")
    if response.status_code != 200 or not response.headers["content-type"].startswith("text/"):
        check(response)
