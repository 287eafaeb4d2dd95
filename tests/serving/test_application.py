"""Answers of the server: the form of LibreTranslate, further requests, limits and errors."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import numpy
import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient

from polyglot.core.errors import CheckpointError
from polyglot.serving.application import _unless_disconnected, create_application
from polyglot.serving.limits import Limits
from polyglot.serving.page import CONTENT_SECURITY_POLICY
from polyglot.serving.service import TranslationService
from polyglot.serving.worker import CallJob

FORM = "application/x-www-form-urlencoded"


def error_of(response, status: int) -> str:
    """The sentence of an error in the form of LibreTranslate."""
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    return response.json()["error"]


@pytest.fixture
def limited_client(served_run, translator):
    """Makes a client of a server with other limits."""
    clients = []

    def make(**limits) -> TestClient:
        service = TranslationService(served_run, translator, replace(Limits(), **limits))
        service.worker.start()
        client = TestClient(create_application(service), raise_server_exceptions=False)
        client.service = service
        clients.append(client)
        return client.__enter__()

    yield make
    for client in clients:
        client.__exit__(None, None, None)
        client.service.stop()


# The form of LibreTranslate


def test_languages(client):
    languages = client.get("/languages").json()
    assert languages[1] == {"code": "de", "name": "German", "targets": ["en", "fr"]}
    assert [language["code"] for language in languages] == ["en", "de", "fr"]


def test_a_text_is_translated_as_by_the_program(client, translator):
    values = {"q": "ein Hund", "source": "de", "target": "fr"}
    expected = {"translatedText": translator.translate("ein Hund", source="de", target="fr")}
    assert client.post("/translate", json=values).json() == expected
    assert client.post("/translate", data=values).json() == expected
    parts = {name: (None, value) for name, value in values.items()}
    assert client.post("/translate", files=parts).json() == expected


def test_a_form_may_have_utf_8_without_escapes(client):
    encoded = client.post("/score", data={"q": "groß", "translation": "grand", **DIRECTION})
    headers = {"content-type": FORM}
    content = "q=groß&translation=grand&source=de&target=fr".encode()
    plain = client.post("/score", content=content, headers=headers)
    assert encoded.json() == plain.json()
    assert "error" not in plain.json()
    assert "UTF-8" in error_of(
        client.post("/score", content=content.decode().encode("latin-1"), headers=headers), 400
    )


DIRECTION = {"source": "de", "target": "fr"}


def test_lists_alternatives_and_identified_languages(client):
    values = {"q": ["ein Hund", "", "one dog"], "source": "auto", "target": "fr", "api_key": "x"}
    answer = client.post("/translate", json={**values, "alternatives": 2}).json()
    assert set(answer) == {"translatedText", "alternatives", "detectedLanguage"}
    assert list(map(len, answer.values())) == [3, 3, 3]
    assert answer["translatedText"][1] == ""
    assert answer["detectedLanguage"][2]["language"] == "en"
    assert 0 < len(answer["alternatives"][0]) <= 2
    assert answer["translatedText"][0] not in answer["alternatives"][0]
    single = client.post("/translate", json={**values, "q": "one dog"}).json()
    assert isinstance(single["translatedText"], str)
    assert single["detectedLanguage"]["language"] == "en"


def test_text_in_the_target_language_stays(client):
    values = {"q": ["ein  <Hund>\n", "one dog"], "source": "auto", "target": "de"}
    answer = client.post("/translate", json=values).json()
    assert answer["detectedLanguage"][0]["language"] == "de"
    assert answer["translatedText"][0] == "ein  <Hund>\n"


def test_paragraphs_and_lines_stay(client, translator):
    def translate(text: str) -> str:
        return translator.translate(text, source="de", target="en")

    text = "Ein Hund. Zwei Katzen.\n\n  rot groß\n"
    answer = client.post("/translate", json={"q": text, "source": "de", "target": "en"}).json()
    sentences = [translate(sentence) for sentence in ("Ein Hund.", "Zwei Katzen.", "rot groß")]
    first = " ".join(filter(None, sentences[:2]))
    assert answer["translatedText"] == f"{first}\n\n  {sentences[2]}\n"


def test_html_keeps_its_tags(client):
    values = {"q": "<p>ein <b>Hund</b></p><script>x</script>", **DIRECTION, "format": "html"}
    text = client.post("/translate", json=values).json()["translatedText"]
    assert text.startswith("<p>")
    assert text.endswith("</p><script>x</script>")
    assert text.count("<b>") == text.count("</b>") == 1


def test_other_spellings_of_a_language(client):
    values = {"q": "ein Hund", "source": "deu_Latn", "target": "FR"}
    expected = client.post("/translate", json={"q": "ein Hund", **DIRECTION}).json()
    assert client.post("/translate", json=values).json() == expected


def test_detect(client):
    answer = client.post("/detect", data={"q": "ein roter Hund singt"}).json()
    assert answer[0]["language"] == "de"
    assert answer[0]["confidence"] > 50
    assert sum(entry["confidence"] for entry in answer) == pytest.approx(100, abs=0.5)
    answers = client.post("/detect", json={"q": ["one dog sings here", ""]}).json()
    assert answers[0][0]["language"] == "en"
    assert answers[1][0]["confidence"] == 0


def test_frontend_settings(client):
    settings = client.get("/frontend/settings").json()
    assert settings["charLimit"] == Limits().characters
    assert settings["language"]["source"] == {"code": "en", "name": "English"}
    assert not settings["keyRequired"]


# Further requests


def test_hypotheses_are_those_of_the_model(client, translator):
    values = {"q": "ein Hund", **DIRECTION, "count": 2}
    answer = client.post("/hypotheses", json=values).json()
    [expected] = translator.hypotheses(["ein Hund"], **DIRECTION, n_best=2)
    assert [item["text"] for item in answer["hypotheses"]] == [item.text for item in expected]
    scores = [item["score"] for item in answer["hypotheses"]]
    assert scores == pytest.approx([item.score for item in expected], abs=1e-3)
    assert scores == sorted(scores, reverse=True)
    assert (answer["source"], answer["target"], answer["kind"]) == ("de", "fr", "zero-shot")
    supervised = client.post("/hypotheses", json={**values, "target": "en"}).json()
    assert supervised["kind"] == "supervised"


def test_more_hypotheses_than_the_beam_of_the_run(client, translator):
    assert translator.search_config.beam == 2
    values = {"q": "ein Hund", **DIRECTION, "count": 5}
    assert len(client.post("/hypotheses", json=values).json()["hypotheses"]) > 2


def test_pivot_translates_twice(client, translator):
    values = {"q": "ein Hund", **DIRECTION, "pivot": "en"}
    answer = client.post("/hypotheses", json=values).json()
    english = translator.translate("ein Hund", source="de", target="en")
    french = translator.translate(english, source="en", target="fr")
    assert (answer["pivot"], answer["pivotText"]) == ("en", english)
    assert answer["hypotheses"][0]["text"] == french


def test_scores_are_those_of_the_model(client, translator):
    pairs = [("ein Hund", "un chien"), ("eine Katze", "un chat")]
    sources, targets = zip(*pairs)
    expected = translator.score(sources, targets, **DIRECTION)
    values = {"q": sources, "translation": targets, **DIRECTION}
    answer = client.post("/score", json=values).json()
    assert answer["logProbability"] == pytest.approx(expected)
    single = {"q": sources[0], "translation": targets[0], **DIRECTION}
    answer = client.post("/score", json=single).json()
    assert answer["logProbability"] == pytest.approx(expected[0])


def test_embeddings_are_those_of_the_model(client, translator):
    sentences = ["ein Hund singt", "one dog sings"]
    expected = translator.encode(sentences, language=["de", "en"], normalize_embeddings=True)
    values = {"q": sentences, "source": "auto", "normalize": True}
    answer = client.post("/embed", json=values).json()
    assert answer["languages"] == ["de", "en"]
    assert numpy.allclose(answer["embeddings"], expected, atol=1e-5)
    single = client.post("/embed", data={"q": sentences[0], "source": "de", "pooling": "mean"})
    expected = translator.encode(sentences[0], language="de", pooling="mean")
    assert numpy.allclose(single.json()["embedding"], expected, atol=1e-5)


def test_attention_has_a_row_for_each_head(client):
    values = {"q": "Ein Hund. Zwei Katzen.", "source": "de"}
    answer = client.post("/attention", json=values).json()
    assert [sentence["text"] for sentence in answer["sentences"]] == ["Ein Hund.", "Zwei Katzen."]
    for sentence in answer["sentences"]:
        assert len(sentence["weights"]) == 3
        for row in sentence["weights"]:
            assert len(row) == len(sentence["pieces"])
            assert sum(row) == pytest.approx(1, abs=1e-3)


def test_specification_lists_every_address(client):
    specification = client.get("/spec").json()
    paths = {route.path for route in client.app.routes} - {"/", "/style.css", "/script.js"}
    assert specification["paths"].keys() == paths
    content = specification["paths"]["/translate"]["post"]["requestBody"]["content"]
    properties = content["application/json"]["schema"]["properties"]
    assert all("description" in field for field in properties.values())


# Errors


@pytest.mark.parametrize(
    ("path", "values", "message"),
    [
        ("/translate", {}, "q: missing; it has no default"),
        ("/translate", {"q": 5, **DIRECTION}, "q: found 5; expected text or a list"),
        ("/translate", {"q": "a", "source": "xx", "target": "fr"}, "no source language named 'xx'"),
        ("/translate", {"q": "a", "source": "de", "target": "auto"}, "no target language named"),
        ("/translate", {"q": "a", **DIRECTION, "format": "pdf"}, "format: found 'pdf'"),
        ("/translate", {"q": "\ud800", **DIRECTION}, "surrogate"),
        ("/hypotheses", {"q": "a", **DIRECTION, "n": 2}, "no key named 'n'"),
        ("/hypotheses", {"q": "a", **DIRECTION, "count": 99}, "count: found 99"),
        ("/hypotheses", {"q": "a", **DIRECTION, "pivot": "xx"}, "pivot: no pivot language named"),
        ("/hypotheses", {"q": "a", **DIRECTION, "pivot": ""}, "pivot: no pivot language named"),
        ("/score", {"q": "a", "translation": ["b"], **DIRECTION}, "both should be a text"),
        ("/score", {"q": ["a"], "translation": ["b", "c"], **DIRECTION}, "1 sources and 2 targets"),
        ("/embed", {"q": "a", "source": "de", "pooling": "x"}, "pooling: found 'x'"),
    ],
)
def test_mistakes_of_clients_are_sentences(path, values, message, client):
    content = json.dumps(values).encode("ascii")  # half characters as escapes
    assert message in error_of(client.post(path, content=content), 400)


def test_content_that_is_no_json_or_form(client):
    for content in (b"", b"{", b"[1]", b"\xff", b"[" * 100_000, b"NaN"):
        assert "JSON" in error_of(client.post("/translate", content=content), 400)
    headers = {"content-type": "multipart/form-data"}
    assert "form" in error_of(client.post("/detect", content=b"--x", headers=headers), 400)
    files = {"q": ("a.txt", b"text")}
    assert "form" in error_of(client.post("/detect", files=files), 400)
    fields = b"&".join([b"q=a"] * 2000)
    headers = {"content-type": FORM}
    assert "1000 fields" in error_of(client.post("/detect", content=fields, headers=headers), 400)


def test_addresses_and_methods_that_do_not_exist(client):
    assert "/nothing: no such address" in error_of(client.get("/nothing"), 404)
    assert "no such address" in error_of(client.post("/translate/", json={}), 404)
    assert "GET is not possible" in error_of(client.get("/translate"), 405)
    assert "POST is not possible" in error_of(client.post("/languages"), 405)


def test_limits_of_one_request(limited_client):
    client = limited_client(characters=20, sentences=2, body_bytes=500, sentence_tokens=3)
    message = error_of(client.post("/translate", json={"q": "a" * 21, **DIRECTION}), 400)
    assert message == "q: found 21 characters; a request may have 20"
    message = error_of(client.post("/translate", json={"q": ["a"] * 3, **DIRECTION}), 400)
    assert message == "q: found 3 texts; a request may have 2"
    message = error_of(client.post("/translate", json={"q": "a\nb\nc", **DIRECTION}), 400)
    assert "more than 2 sentences" in message
    message = error_of(client.post("/detect", json={"q": "a" * 500}), 413)
    assert "500 bytes" in message
    values = {"q": "ein", "translation": "un un un un", **DIRECTION}
    assert "4 tokens in fr, and may have 3" in error_of(client.post("/score", json=values), 400)
    values = {"q": "ein ein ein ein", "source": "de"}
    assert "4 tokens in de, and may have 3" in error_of(client.post("/embed", json=values), 400)


def test_limit_of_requests_at_a_time(limited_client):
    client = limited_client(requests=1)
    with client.service.admitted():
        response = client.post("/detect", json={"q": "a"})
        assert "it answers 1 requests" in error_of(response, 503)
        assert response.headers["retry-after"] == "5"
        assert client.get("/health").json()["requests"] == 1
    assert client.post("/detect", json={"q": "a"}).status_code == 200


def test_a_full_queue_and_a_slow_model(limited_client, monkeypatch):
    client = limited_client(seconds=0.2)

    async def wait(job):
        await asyncio.sleep(30)

    monkeypatch.setattr(client.service, "_result", wait)
    values = {"q": "ein Hund", **DIRECTION}
    message = error_of(client.post("/translate", json=values), 503)
    assert message == "no answer within 0.2 seconds; try again later, or send less text"
    assert client.service.active_requests == 0


def test_a_stopped_worker_is_not_healthy(limited_client):
    client = limited_client()
    assert client.get("/health").json()["status"] == "ok"
    client.service.worker.stop()
    assert "restart" in error_of(client.get("/health"), 503)
    values = {"q": "ein Hund", **DIRECTION}
    assert "stopping" in error_of(client.post("/translate", json=values), 503)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("secret"), "error of the server; its log has the details"),
        (CheckpointError("run: the scores are NaN"), "run: the scores are NaN"),
    ],
)
def test_errors_of_the_server_are_logged(error, message, client, translator, monkeypatch, caplog):
    def fail(*arguments, **settings):
        raise error

    monkeypatch.setattr(translator, "score", fail)
    values = {"q": "ein Hund", "translation": "un chien", **DIRECTION}
    assert error_of(client.post("/score", json=values), 500) == message
    assert str(error) in caplog.text
    monkeypatch.undo()
    assert client.post("/score", json=values).status_code == 200


# Headers


def test_every_answer_restricts_the_browser(client):
    answers = [
        client.get("/"),
        client.get("/script.js"),
        client.get("/languages"),
        client.get("/nothing"),
        client.post("/translate", json={}),
    ]
    for answer in answers:
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY


def test_other_pages_may_use_the_server_if_they_are_named(service):
    application = create_application(service, allowed_origins=["https://example.org"])
    client = TestClient(application)
    for origin, allowed in [("https://example.org", "https://example.org"), ("https://a.b", None)]:
        answer = client.post("/detect", json={"q": "a"}, headers={"origin": origin})
        assert answer.headers.get("access-control-allow-origin") == allowed


# A client that leaves


def test_the_work_for_a_client_that_leaves_is_left_out(served_run, translator):
    service = TranslationService(served_run, translator, Limits())  # its thread does not run
    job = CallJob(1, function=list)

    class LeavingClient:
        async def receive(self):
            return {"type": "http.disconnect"}

    async def leave() -> bool:
        with pytest.raises(ClientDisconnect):
            await _unless_disconnected(LeavingClient(), service._result(job))
        await asyncio.sleep(0)
        return job.is_abandoned

    assert asyncio.run(leave())
    assert service.worker.waiting_sentences == 1
    service.worker.start()
    service.stop()
    assert service.worker.waiting_sentences == 0
    assert not job.future.done() or job.future.cancelled()
