"""Help texts, the version, and commands that do not exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
import typer

from polyglot import cli
from polyglot.cli import analysis, embeddings, parameters, results, translation
from polyglot.core.version import VERSION
from polyglot.core.yaml import parse_value
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.ensemble_decoder import Average
from polyglot.evaluation.significance import TESTS
from polyglot.inference import devices
from polyglot.inference.embeddings import pooling, similarity
from polyglot.layers import low_precision
from tests.builders.command_line import CONFIG, TEXT
from tests.cli.small_run import ENVIRONMENT, one_line

COMMANDS = (
    "train",
    "translate",
    "shortlist",
    "evaluate",
    "compare",
    "report",
    "experiment",
    "embed",
    "similar",
    "analyse",
    "add-language",
    "average",
    "export",
    "match",
    "convert",
    "push",
    "serve",
    "split",
    "clean",
    "symbolize",
    "desymbolize",
    "check",
    "fetch",
    "show",
)


def registered_commands() -> dict:
    return typer.main.get_command(cli.app.app).commands


def test_help_lists_all_commands_in_order(polyglot):
    assert tuple(registered_commands()) == COMMANDS
    output = polyglot("--help").output
    rows = [line for line in output.splitlines() if line.startswith("│ ")]
    names = [row.split()[1] for row in rows]
    assert [name for name in names if name in COMMANDS] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_valid_examples_one_per_line(name, polyglot):
    result = polyglot(name, "--help")
    assert result.status == 0
    _, examples = result.output.split("Examples:\n")
    for example in examples.strip().splitlines():
        words = shlex.split(re.split(" < | && ", example)[0])
        assert words[:2] == ["polyglot", name]
        registered_commands()[name].make_context(name, words[2:])  # raises a usage error


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_shows_no_types_of_python(name, polyglot):
    output = polyglot(*name.split(), "--help").output
    assert not [word for word in output.split() if word.startswith("<") and word.endswith(">")]


def test_commands_and_options_have_sentences_of_help():
    for name, command in registered_commands().items():
        assert command.help.endswith("."), name
        for parameter in command.params:
            assert parameter.help.endswith("."), (name, parameter.name)


@pytest.mark.parametrize(
    ("shown", "defined"),
    [
        (parameters.POOLINGS, pooling.POOLINGS),
        (parameters.LAYERS, pooling.LAYERS),
        (parameters.ENGINES, devices.ENGINES),
        (parameters.PRECISIONS, (*low_precision.PRECISIONS, "auto")),
        (parameters.SELECT_BY, SearchConfig.model_fields["select_by"].annotation.__args__),
        (parameters.SELECT_FOR, SearchConfig.model_fields["select_for"].annotation.__args__),
        (embeddings.PRECISIONS, pooling.PRECISIONS),
        (embeddings.MARGINS, similarity.MARGINS),
        (embeddings.SEARCHES, tuple(similarity.SEARCHES)),
        (results.SIGNIFICANCE_TESTS, tuple(TESTS)),
        (translation.AVERAGES, Average.__args__),
    ],
)
def test_choices_in_the_help_are_those_of_the_package(shown, defined):
    assert shown == defined


@pytest.mark.parametrize(
    ("arguments", "choices"),
    [
        (("embed", "--help"), ("flat|mean|max", "bridge|states|words", "float32|float16|int8")),
        (("similar", "--help"), ("ratio|cosine", "exact|faiss")),
        (("translate", "--help"), ("prediction|shortlist", "sentence|batch", "log|linear")),
        (("compare", "--help"), ("bootstrap|randomisation",)),
        (("analyse", "--help"), ("|".join(analysis.SIDES),)),
    ],
    ids=lambda value: value[0],
)
def test_help_lists_choices(arguments, choices, polyglot):
    output = polyglot(*arguments).output
    for choice in choices:
        assert f" {choice} " in output


def test_help_does_not_load_large_libraries():
    program = """
import sys
from polyglot import cli
try:
    cli.main()
except SystemExit:
    print(sorted({"torch", "datasets", "numpy"} & sys.modules.keys()))
"""
    process = subprocess.run(
        [sys.executable, "-c", program, "--help"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "multilingual translation models" in process.stdout
    assert process.stdout.endswith("[]\n")


def test_version(polyglot):
    assert polyglot("--version").output == f"polyglot {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trainn",), "No such command 'trainn'. Did you mean 'train'?"),
        (("train",), "Missing argument"),
        (("translate", "runs/mine", "--to", "fr"), "Missing option '--from'"),
        (
            ("translate", "runs/mine", "--from", "de", "--to", "fr", "--beam", "0"),
            "Invalid value for '--beam'",
        ),
        (("translate", "runs/mine", "--from", "de", "--to", "fr", "--beem", "5"), "No such option"),
    ],
)
def test_usage_error(arguments, message, polyglot):
    assert message in one_line(polyglot.refuses(*arguments))


def test_configuration_of_the_tests_has_the_languages_of_their_text():
    assert parse_value(CONFIG)["languages"] == list(TEXT)
