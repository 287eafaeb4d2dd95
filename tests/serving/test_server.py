"""The command `serve`: a real server on a free port, many clients at a time, and its end."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from polyglot.cli import serving
from polyglot.core.errors import ConfigError
from polyglot.serving.limits import Limits
from polyglot.serving.server import address_of, is_public, open_socket, run_server
from polyglot.serving.service import TranslationService
from tests.builders.forked import PROGRAM, ForkedProgram
from tests.builders.runs import WORDS, sample_sentences

TIMEOUT = 120  # seconds; a loaded machine needs a minute to start a process
CLIENTS = 100


class ServerProcess:
    """`polyglot serve` as a process, on a free port."""

    def __init__(self, run_path: str, *options: str) -> None:
        self.process = ForkedProgram(
            [*PROGRAM, "serve", run_path, "--port", "0", *options],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        line = self.process.stdout.readline().decode()
        address = re.search(r"http://\S+", line)
        assert address, self.process.stderr.read().decode()
        self.url = address[0]

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and the messages."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, errors.decode()


def post(url: str, values: dict[str, Any]) -> dict[str, Any]:
    content = json.dumps(values).encode()
    request = urllib.request.Request(url, content, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        return json.load(response)


@pytest.fixture(scope="module")
def server(served_run) -> Iterator[ServerProcess]:
    server = ServerProcess(str(served_run.path))
    yield server
    status, errors = server.end()
    assert status == 0
    assert "Traceback" not in errors
    assert errors.rstrip().endswith("the server has ended")


def test_many_clients_in_mixed_directions_get_their_translations(server, translator):
    """The translations of 100 clients at a time are those of the program."""
    requests = []
    languages = list(WORDS)
    for number in range(CLIENTS):
        source = languages[number % 3]
        target = languages[(number // 3 + number + 1) % 3]
        [line] = sample_sentences(source, seed=number, lines=1)
        requests.append({"q": line, "source": source, "target": target})

    ready = threading.Barrier(CLIENTS)

    def ask(values: dict[str, Any]) -> str:
        ready.wait(TIMEOUT)
        return post(f"{server.url}/translate", values)["translatedText"]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(ask, requests))

    for values, answer in zip(requests, answers):
        expected = values["q"]
        if values["source"] != values["target"]:
            direction = {"source": values["source"], "target": values["target"]}
            expected = translator.translate(values["q"], **direction)
        assert answer == expected
    with urllib.request.urlopen(f"{server.url}/health", timeout=TIMEOUT) as response:
        assert json.load(response) == {"status": "ok", "requests": 0, "waitingSentences": 0}


def test_python_client_of_libretranslate(server, translator):
    reason = "the client of LibreTranslate is not installed"
    libretranslate = pytest.importorskip("libretranslatepy", reason=reason)
    client = libretranslate.LibreTranslateAPI(server.url)
    expected = translator.translate("groß & rot", source="de", target="fr")
    assert client.translate("groß & rot", source="de", target="fr", timeout=TIMEOUT) == expected
    assert client.detect("ein roter Hund singt", timeout=TIMEOUT)[0]["language"] == "de"
    languages = client.languages(timeout=TIMEOUT)
    assert [language["name"] for language in languages] == ["English", "German", "French"]
    with pytest.raises(urllib.error.HTTPError) as caught:
        client.translate("Hund", source="de", target="xx", timeout=TIMEOUT)
    assert "no target language named 'xx'" in json.load(caught.value)["error"]


def test_a_client_that_leaves_ends_its_work(server):
    address = server.url.removeprefix("http://").split(":")
    content = json.dumps({"q": "ein Hund. " * 400, "source": "de", "target": "fr"})
    head = f"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-length: {len(content)}\r\n\r\n"
    with socket.create_connection((address[0], int(address[1])), timeout=TIMEOUT) as connection:
        connection.sendall((head + content).encode())
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{server.url}/health", timeout=TIMEOUT) as response:
            if json.load(response)["requests"] == 0:
                break
        time.sleep(0.05)
    values = {"q": "ein Hund", "source": "de", "target": "fr"}
    assert "translatedText" in post(f"{server.url}/translate", values)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_server_after_the_requests_that_have_begun(number, served_run, translator):
    """Run in this process, with a model that waits until the signal has come."""
    service = TranslationService(served_run, translator, Limits(collect_seconds=0))
    translate = service.worker._translate
    has_started = threading.Event()
    answers = []

    def slow(sentences):
        has_started.set()
        time.sleep(0.3)
        return translate(sentences)

    service.worker._translate = slow
    with open_socket("127.0.0.1", 0) as opened:

        def ask() -> None:
            values = {"q": "ein Hund", "source": "de", "target": "fr"}
            answers.append(post(f"{address_of(opened)}/translate", values))

        def interrupt() -> None:
            has_started.wait(TIMEOUT)
            os.kill(os.getpid(), number)

        threads = [threading.Thread(target=ask), threading.Thread(target=interrupt)]
        handler = signal.getsignal(number)
        run_server(service, opened, announce=lambda: [thread.start() for thread in threads])
        for thread in threads:
            thread.join(TIMEOUT)
    expected = translator.translate("ein Hund", source="de", target="fr")
    assert answers == [{"translatedText": expected}]
    assert signal.getsignal(number) is handler
    assert not service.worker.is_alive


# Addresses


def test_address_in_use_or_unknown():
    with open_socket("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        assert address_of(opened) == f"http://127.0.0.1:{port}"
        assert not is_public(opened)
        with pytest.raises(
            ConfigError, match=f"127.0.0.1, port {port}: cannot be opened: .*in use"
        ):
            open_socket("127.0.0.1", port)
    for host in ("203.0.113.1", "no.such.host.invalid", "a" * 300, "\x00"):
        with pytest.raises(ConfigError, match="cannot be opened"):
            open_socket(host, 0)


def test_address_of_all_machines_is_public():
    with open_socket("0.0.0.0", 0) as opened:  # noqa: S104 (no server runs there)
        assert is_public(opened)


# The command


def test_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(serving, "LIBRARIES", ("starlette", "no_such_library"))
    with pytest.raises(ConfigError, match=r"no_such_library .*'polyglot-nmt\[serve\]'"):
        serving.check_libraries()


def test_libraries_of_the_extra_are_not_loaded_for_other_commands():
    code = (
        "import sys\nfrom polyglot.cli import main\nsys.argv = ['polyglot', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print({'starlette', 'uvicorn', 'torch', 'asyncio'} & set(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.strip() == "set()"


def test_defaults_of_the_command_are_those_of_the_limits():
    import inspect

    parameters = inspect.signature(serving.serve).parameters
    limits = Limits()
    assert parameters["max_characters"].default == limits.characters
    assert parameters["max_requests"].default == limits.requests
    assert parameters["timeout"].default == limits.seconds
    assert parameters["host"].default == "127.0.0.1"


def test_a_warning_for_an_address_of_all_machines(served_run, monkeypatch, caplog):
    announced = []
    monkeypatch.setattr(
        "polyglot.serving.server.run_server",
        lambda service, opened, **settings: announced.append(settings["announce"]()),
    )
    with caplog.at_level(logging.INFO, logger="polyglot"):
        serving.serve(served_run.path, port=0)
        assert "other machines" not in caplog.text
        serving.serve(served_run.path, host="0.0.0.0", port=0)  # noqa: S104
    assert "other machines can use this server" in caplog.text
    assert len(announced) == 2
