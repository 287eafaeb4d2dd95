"""A run on the phrasebook with every option, trained for a few steps."""

from __future__ import annotations

import pytest

from polyglot.config import load_config
from polyglot.inference import Translator
from polyglot.run import Run
from tests.command_line import PHRASEBOOK, SMALL
from tests.runs import train

OPTIONS = [
    "model.options.encoder=[{type: context_gate}, {type: roles, roles: 4}, {type: latent_graph, head_size: 8}]",
    "model.options.decoder=[{type: roles, roles: 3, assignment: onehot}, {type: context_gate}]",
    "model.languages={fr: {options: {encoder: []}}}",
    "languages=[en, de, fr]",
    "validation.bleu_pairs=[]",
    "validation.best_by=loss",
]


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> Run:
    place = tmp_path_factory.mktemp("options") / "run"
    made = Run.create(load_config("phrasebook", [*SMALL, *PHRASEBOOK, *OPTIONS, f"run={place}"]))
    train(made)
    return made


@pytest.fixture(scope="session")
def translator(run) -> Translator:
    return Translator.load(run.path)
