"""A served tiny run in three languages, of which de-fr and fr-de are zero-shot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.serving.application import create_application
from polyglot.serving.limits import Limits
from polyglot.serving.service import TranslationService
from tests.builders.runs import make_trainer, tiny_run


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
