"""Run on the phrasebook with every option, trained for a few steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest
import torch

from polyglot.config.loading import load_config
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from tests.builders.command_line import SMALL_PHRASEBOOK, SMALL_RUN
from tests.builders.runs import train

ENGLISH = "[{type: roles, roles: 4}, context_gate, {type: latent_graph, head_size: 8}]"
GERMAN = "[{type: context_gate}, {type: roles, roles: 4}, {type: latent_graph, head_size: 8}]"
DECODERS = "[{type: roles, roles: 3, assignment: onehot}, {type: context_gate}]"
FRENCH_DECODER = "[context_gate, {type: state_roles, roles: 3}]"
OPTIONS = [
    f"model.options.encoder={GERMAN}",
    f"model.options.decoder={DECODERS}",
    f"model.languages={{fr: {{options: {{encoder: [], decoder: {FRENCH_DECODER}}}}}}}",
    f"model.languages.en.options={{encoder: {ENGLISH}}}",
    "languages=[en, de, fr]",
    "validation.bleu_pairs=[]",
    "validation.best_by=loss",
]

RecordResult = Callable[[str, str, type, str], numpy.ndarray]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("options") / "run"
    overrides = [*SMALL_RUN, *SMALL_PHRASEBOOK, *OPTIONS, f"run={path}"]
    run = Run.create(load_config("phrasebook", overrides))
    train(run)
    return run


@pytest.fixture(scope="session")
def translator(run: Run) -> Translator:
    return Translator.load(run.path)


@pytest.fixture
def record_result(monkeypatch: pytest.MonkeyPatch, translator: Translator) -> RecordResult:
    """Function that returns the result of an option's method while the model encodes a sentence."""

    def record(language: str, text: str, option: type, method: str) -> numpy.ndarray:
        results = []
        original = getattr(option, method)

        def recording_method(*arguments: object) -> torch.Tensor:
            results.append(original(*arguments))
            return results[-1]

        monkeypatch.setattr(option, method, recording_method)
        tokens = torch.tensor(translator.encode_text([text], language))
        with torch.inference_mode():
            translator.model.encode(language, tokens, torch.ones_like(tokens, dtype=torch.bool))
        (result,) = results
        return result[0].numpy()

    return record
