"""A served tiny run in three languages, of which de-fr and fr-de are zero-shot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
from starlette.testclient import TestClient  # noqa: E402

from polyglot.inference.translator import Translator  # noqa: E402
from polyglot.runs.run import Run  # noqa: E402
from polyglot.serving.application import create_application  # noqa: E402
from polyglot.serving.limits import Limits  # noqa: E402
from polyglot.serving.service import TranslationService  # noqa: E402
from tests.builders.runs import make_trainer, tiny_run  # noqa: E402


@pytest.fixture(scope="session")
def served_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = tiny_run(tmp_path_factory.mktemp("served"), training={"steps": 1})
    make_trainer(run).train()
    return run


@pytest.fixture(scope="session")
def translator(served_run: Run) -> Translator:
    return Translator.load(served_run)


@pytest.fixture(scope="session")
def service(served_run: Run, translator: Translator) -> Iterator[TranslationService]:
    service = TranslationService(served_run, translator, Limits())
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def client(service: TranslationService) -> Iterator[TestClient]:
    """Client of the application, without a network. An error of the program is an answer 500."""
    application = create_application(service)
    with TestClient(application, raise_server_exceptions=False) as client:
        yield client
