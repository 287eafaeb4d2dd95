"""Contradictions between keys: each is reported, and the settings beside it are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot.config.loading import load_config
from polyglot.core.errors import ConfigError

MINIMAL = """\
languages: [en, de, fr]
data:
  train: [{type: text, path: "train.{language}"}]
  valid: [{type: phrasebook, split: valid}]
training: {steps: 10}
"""

STREAMED = "data.train.0.streaming=true"
PARTITIONED = "parallel.placement=partitioned"
CONTRADICTIONS = [
    (
        ["training={epochs: 2}", STREAMED],
        "training.epochs: needs the number of sentences of each task",
    ),
    (
        ["data.valid=[{type: text, path: 'valid.{language}', streaming: true}]"],
        "data.valid.0.streaming: held-out text is not streamed",
    ),
    (
        ["data.test=[{type: text, path: 'test.{language}', streaming: true}]"],
        "data.test.0.streaming: held-out text is not streamed",
    ),
    (
        [PARTITIONED, "parallel.tasks=same"],
        "parallel.placement: 'partitioned' gives each process tasks of its own",
    ),
    (
        [PARTITIONED, "training.precision=fp16"],
        "parallel.placement: 'partitioned' cannot agree on the scale of 'fp16' losses",
    ),
    (
        [PARTITIONED, "losses.agreement.weight=0.5"],
        "losses.agreement: needs the encoder of each target's language",
    ),
    (
        ["sharing.decoder={west: [de, fr]}", "model.options.decoder=[word_prediction]"],
        "model.options.decoder: word_prediction predicts words, so de and fr cannot share",
    ),
    (
        ["sharing.encoder={west: [de, fr]}", "model.languages={fr: {embedding: {size: 64}}}"],
        "sharing.encoder: de and fr cannot share while model.embedding.size differs",
    ),
    (["search.beam=3", "search.n_best=4"], "search.n_best: 4 hypotheses cannot come from"),
    (["trained_before=[de-xx]"], "trained_before: no language named 'xx'"),
    (["freeze=['decoder.x*']"], "freeze: no component named 'decoder.x*'"),
]
"""Overrides that contradict each other, and the start of the problem."""

CONSISTENT = [
    ["training={epochs: 2}"],
    ["training={epochs: 2}", "data.train.0.streaming=false"],
    [STREAMED],
    ["data.test=[{type: text, path: 'test.{language}', streaming: false}]"],
    [PARTITIONED, "parallel.tasks=mixed"],
    ["parallel.tasks=same"],
    [PARTITIONED, "training.precision=bf16"],
    ["training.precision=fp16"],
    [PARTITIONED, "losses.agreement.weight=0.0"],
    ["losses.agreement.weight=0.5"],
    ["sharing.decoder={west: [de, fr]}"],
    ["sharing.decoder={west: [de, fr]}", "model.options.decoder=[]"],
    [
        "sharing={decoder: {west: [de, fr]}, vocabulary: {west: [de, fr]}}",
        "model.options.decoder=[word_prediction]",
    ],
    ["sharing.encoder={west: [de, fr]}", "model.languages={en: {embedding: {size: 64}}}"],
    ["search.beam=3", "search.n_best=3"],
    ["trained_before=[de-fr]"],
    ["freeze=['decoder.d*']"],
]
"""Overrides that are like a contradiction, without one."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "mine.yaml"
    path.write_text(MINIMAL, encoding="utf-8")
    return path


@pytest.mark.parametrize(("overrides", "start"), CONTRADICTIONS)
def test_a_contradiction_is_one_problem(overrides: list[str], start: str, path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(path, overrides)
    [problem] = map(str, error.value.problems)
    assert problem.startswith(start)


@pytest.mark.parametrize("overrides", CONSISTENT)
def test_settings_without_a_contradiction_are_accepted(overrides: list[str], path: Path) -> None:
    load_config(path, overrides)
