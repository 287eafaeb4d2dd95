"""A run on the phrasebook with every option, trained for a few steps."""

from __future__ import annotations

import numpy
import pytest
import torch

from polyglot.config.loading import load_config
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from tests.builders.command_line import SMALL_PHRASEBOOK, SMALL_RUN
from tests.builders.runs import train

OPTIONS = [
    "model.options.encoder=[{type: context_gate}, {type: roles, roles: 4}, {type: latent_graph, head_size: 8}]",
    "model.options.decoder=[{type: roles, roles: 3, assignment: onehot}, {type: context_gate}]",
    "model.languages={fr: {options: {encoder: []}}}",
    "model.languages.en.options={encoder: [{type: roles, roles: 4}, context_gate, {type: latent_graph, head_size: 8}]}",
    "languages=[en, de, fr]",
    "validation.bleu_pairs=[]",
    "validation.best_by=loss",
]


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> Run:
    place = tmp_path_factory.mktemp("options") / "run"
    made = Run.create(load_config("phrasebook", [*SMALL_RUN, *SMALL_PHRASEBOOK, *OPTIONS, f"run={place}"]))
    train(made)
    return made


@pytest.fixture(scope="session")
def translator(run) -> Translator:
    return Translator.load(run.path)


def seen_in_encoding(
    monkeypatch, translator: Translator, language: str, text: str, owner: type, method: str
) -> numpy.ndarray:
    """What a method of an option gives while the model itself encodes a sentence, without the batch."""
    seen, own = [], getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *given: seen.append(own(*given)) or seen[-1])
    tokens = torch.tensor([translator.encode_text([text], language)[0]])
    with torch.inference_mode():
        translator.model.encode(language, tokens, torch.ones_like(tokens, dtype=torch.bool))
    (found,) = seen
    return found[0].numpy()
