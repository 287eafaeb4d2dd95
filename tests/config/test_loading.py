"""One YAML file is one run: what is shipped loads, what is wrong is said at once, and overrides lie
on top.
"""

from __future__ import annotations

import gzip
import json
import re
import types
import typing
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from polyglot.config.loading import configure, load_config
from polyglot.config.schema import Config
from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.core.yaml import parse_value, read_yaml
from polyglot.model.config import ModelConfig
from polyglot.tasks.pairs import match_pairs
from polyglot.training.preflight import preflight_problems

MINIMAL = """\
languages: [en, de, fr]
data: {train: [{type: text, path: "train.{language}"}], valid: [{type: phrasebook, split: valid}]}
training: {steps: 10}
"""


@pytest.fixture
def load(tmp_path):
    def loaded(text=MINIMAL, *overrides):
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
        return load_config(tmp_path / "mine.yaml", overrides)

    return loaded


@pytest.fixture
def problems(load):
    def found(text, *overrides):
        with pytest.raises(ConfigError) as error:
            load(text, *overrides)
        return list(map(str, error.value.problems))

    return found


# What is shipped ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", presets.names("configs"))
class TestEveryShippedConfiguration:
    def test_loads_and_is_short(self, name):
        config = load_config(name)
        assert config.tasks
        assert len(presets.find("configs", name).read_text(encoding="utf-8").splitlines()) < 60

    def test_is_the_same_when_written_and_read_again(self, name, tmp_path):
        config = load_config(name)
        (tmp_path / "config.yaml").write_text(config.to_yaml(), encoding="utf-8")
        assert load_config(tmp_path / "config.yaml") == config

    def test_every_schedule_fits_it(self, name):
        around_english = (
            ["english_centric", "with_copies"] if "en" in load_config(name).languages else []
        )  # others call it `eng`
        for schedule in [*around_english, "many_to_many"]:
            assert load_config(name, [f"schedule={schedule}"]).tasks


PAPER = {
    "model.encoder.type": "lstm",
    "model.encoder.size": 512,
    "model.encoder.layers": 2,
    "model.encoder.bidirectional": True,
    "model.encoder.dropout": 0.3,
    "model.encoder.states_dropout": 0.0,
    "model.bridge.type": "attention",
    "model.bridge.heads": 10,
    "model.bridge.bias": False,
    "model.bridge.visible_rows": "all",
    "model.decoder.type": "lstm",
    "model.decoder.size": 512,
    "model.decoder.layers": 2,
    "model.decoder.input_feeding": True,
    "model.decoder.dropout": 0.3,
    "model.decoder.start": "mean",
    "model.embedding.size": 512,
    "model.embedding.tie_sides": True,
    "model.embedding.dropout": 0.0,
    "model.initial_range": 0.1,
    "model.initial_parameters": "independent",
    "losses.per": "sentence",
    "losses.bridge.weight": 1.0,
    "losses.bridge.form": "squared",
    "optimizer.type": "sgd",
    "optimizer.learning_rate": 1.0,
    "batching.size": 64,
    "training.steps": 100_000,
    "training.clip_norm": 5.0,
    "training.precision": "no",
    "validation.sentences": 1014,
    "vocabulary.type": "word",
    "vocabulary.size": 10_004,
    "search.beam": 5,
    "search.length_penalty": 0,
    "data.filter.max_length": 50,
}
"""Settings of Vázquez et al., section 4, and of their program."""


def all_settings(name):
    """Every setting of a configuration by its dotted key."""
    settings = {}

    def collect(value, key):
        if isinstance(value, dict) and value:
            for name, item in value.items():
                collect(item, f"{key}.{name}" if key else name)
        else:
            settings[key] = value

    collect(load_config(name).model_dump(mode="json"), "")
    return settings


def test_configuration_of_the_paper_has_the_settings_of_the_paper():
    settings = all_settings("multi30k/paper")
    for key, value in PAPER.items():
        assert settings[key] == value, key


def test_configuration_of_the_paper_chooses_nothing_by_zero_shot_directions():
    config = load_config("multi30k/paper")
    assert len(config.tasks) == 10
    validated = match_pairs(config.validation.bleu_pairs, config.languages)
    assert set(validated) <= set(config.pairs)


def test_configuration_of_the_program_differs_in_four_details():
    paper = all_settings("multi30k/paper")
    program = all_settings("multi30k/paper_program")
    different = {key for key in paper | program if paper.get(key) != program.get(key)}
    assert different == {
        "run",
        "vocabulary.type",
        "vocabulary.size",
        "vocabulary.byte_fallback",
        "sharing.vocabulary",
        "model.bridge.bias",
        "model.bridge.visible_rows",
        "losses.bridge.form",
    }


# Defaults -----------------------------------------------------------------------------------------


def settings_of(kind, seen):
    """Every class of settings below one."""
    if typing.get_origin(kind) in (list, dict, typing.Union, types.UnionType, typing.Annotated):
        for inner in typing.get_args(kind):
            settings_of(inner, seen)
    elif isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
        seen.add(kind)
        for field in kind.model_fields.values():
            settings_of(field.annotation, seen)
    return seen


def test_every_setting_says_what_it_is():
    every = settings_of(Config, set())
    assert len(every) > 20
    silent = [
        f"{kind.__name__}.{name}"
        for kind in every
        for name, field in kind.model_fields.items()
        if name != "type" and not field.description
    ]
    assert silent == []


def test_every_setting_has_a_reader():
    """A key that nobody reads promises what nothing does."""
    package = Path(presets.__file__).parents[1]
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    fields = {name for kind in settings_of(Config, set()) for name in kind.model_fields}
    assert [
        name for name in sorted(fields) if not re.search(rf"\.{name}\b|\"{name}\"", source)
    ] == []


def test_a_run_has_every_default_filled_in(load):
    """So that a default may change in a later version without changing what an older run meant."""

    def complete(value, settings):
        assert value.keys() == type(settings).model_fields.keys(), settings
        for key, below in value.items():
            part = getattr(settings, key)
            if isinstance(part, BaseModel):
                complete(below, part)

    config = load()
    complete(yaml.safe_load(config.to_yaml()), config)
    assert yaml.safe_load(config.to_yaml())["model"]["encoder"]["type"] == config.model.encoder.type


def test_the_run_directory_is_named_after_the_configuration(load, tmp_path):
    assert load().run == "runs/mine"
    assert load(MINIMAL + "run: elsewhere/x\n").run == "elsewhere/x"
    assert load(MINIMAL + "run:\n").run == "runs/mine"
    assert load(MINIMAL, "run=elsewhere/y").run == "elsewhere/y"


# What is wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            "model: {encodr: lstm}",
            (
                "model.encodr: no key named 'encodr'. Did you mean 'encoder'? Known: bridge, "
                "decoder, embedding, encoder"
            ),
        ),
        (
            "model: {encoder: lsmt}",
            "model.encoder.type: no encoder named 'lsmt'. Did you mean 'lstm'? Known: cnn, ",
        ),
        (
            "model: {encoder: {type: lsmt, size: 8}}",
            "model.encoder.type: no encoder named 'lsmt'. Did you mean 'lstm'?",
        ),
        (
            "model: {bridge: atention}",
            "model.bridge.type: no bridge named 'atention'. Did you mean 'attention'?",
        ),
        (
            "model: {decoder: {type: lstm, layer: 2}}",
            (
                "model.decoder.layer: no key named 'layer'. Did you mean 'layers'? Known: "
                "attention, dropout"
            ),
        ),
        (
            "model: {encoder: {type: lstm, size: large}}",
            "model.encoder.size: found 'large'; expected a whole number",
        ),
        (
            "model: {encoder: {type: lstm, size: 8.5}}",
            "model.encoder.size: found 8.5; expected a whole number",
        ),
        (
            "model: {encoder: {type: lstm, size: 7}}",
            "model.encoder: size 7 cannot be shared by two directions; use an even number",
        ),
        (
            "model: {encoder: {type: lstm, dropout: 1.5}}",
            "model.encoder.dropout: found 1.5; expected less than 1",
        ),
        (
            "model: {encoder: {type: lstm, bidirectional: 1}}",
            "model.encoder.bidirectional: found 1; expected true or false",
        ),
        (
            "model: {encoder: 3}",
            "model.encoder: found 3; expected a name, or a mapping with `type`",
        ),
        ("model: [lstm]", "model: found [lstm]; expected a mapping"),
        (
            "model: {languages: {dd: {encoder: gru}}}",
            "model.languages.dd: no language named 'dd'. Known: de, en, fr",
        ),
        (
            "model: {languages: {de: {encodr: gru}}}",
            (
                "model.languages.de.encodr: no key named 'encodr'. Did you mean 'encoder'? "
                "Known: decoder"
            ),
        ),
        (
            "model: {languages: {de: {encoder: gur}}}",
            "model.languages.de.encoder.type: no encoder named 'gur'. Did you mean 'gru'?",
        ),
        ("model: {languages: [de]}", "model.languages: found [de]; expected a mapping"),
        (
            "optimizer: adma",
            (
                "optimizer.type: no optimizer named 'adma'. Did you mean 'adam'? Known: "
                "adadelta, adam, adamw, muon, sgd"
            ),
        ),
        (
            "optimizer: {type: adam, momentum: 0.9}",
            (
                "optimizer.momentum: no key named 'momentum'. Known: betas, epsilon, "
                "learning_rate, type"
            ),
        ),
        (
            "optimizer: {type: sgd, learning_rate: 1e-3x}",
            "optimizer.learning_rate: found '1e-3x'; expected a number",
        ),
        (
            "text: {steps: [{form: NFC}]}",
            "text.steps.0: `type` is missing; write a name, or a mapping with `type` and settings",
        ),
        (
            "learning_rate_schedule: cosin",
            (
                "learning_rate_schedule.type: no learning rate schedule named 'cosin'. "
                "Did you mean 'cosine'?"
            ),
        ),
        (
            "schedule: with_copie",
            (
                "schedule: with_copie: neither a file nor shipped with Polyglot: "
                "no schedule named 'with_copie'. Did you mean 'with_copies'?"
            ),
        ),
        (
            "schedule: {type: unifrom}",
            "schedule.type: no schedule named 'unifrom'. Did you mean 'uniform'?",
        ),
        ("schedule: {copies: 3}", "schedule.copies: found 3; expected true or false or a list"),
        (
            "schedule: {type: uniform, temperature: 5.0}",
            (
                "schedule.temperature: no key named 'temperature'. Known: back_translation, "
                "center, copies, "
                "copy_noise, copy_weight, exclude"
            ),
        ),
        ("schedule: {base: 3}", "schedule.base: the name of a schedule is expected, found 3"),
        ("schedule: [de-en]", "schedule: found [de-en]; expected a name, or a mapping"),
        (
            "text: {steps: [lowercse]}",
            "text.steps.0.type: no type named 'lowercse'. Did you mean 'lowercase'?",
        ),
        (
            "text: {languages: {xx: [lowercase]}}",
            "text.languages.xx: no language named 'xx'. Known: de, en, fr",
        ),
        ("vocabulary: {size: 0}", "vocabulary.size: found 0; expected more than"),
        (
            "vocabulary: {type: bpee}",
            "vocabulary.type: found 'bpee'; expected 'unigram', 'bpe', 'word' or 'char'",
        ),
        (
            "vocabulary: {languages: {xx: {size: 100}}}",
            "vocabulary.languages.xx: no language named 'xx'",
        ),
        (
            "validation: {bleu_pairs: [de-xx]}",
            "validation.bleu_pairs: 'de-xx' matches no pair of the languages en, de, fr",
        ),
        ("validation: {best_by: bleu}", "validation.best_by: 'bleu' needs validation.bleu_pairs"),
        ("search: {n_best: 9}", "search.n_best: 9 hypotheses cannot come from search.beam 5"),
        (
            "search: {select: 100}",
            (
                "search.select: the decoder of de has no word_prediction from its initial state; "
                "put it on in"
            ),
        ),
        (
            (
                "search: {select: 100}\n"
                "model: {options: {decoder: [{type: word_prediction, predict: states}]}}"
            ),
            (
                "search.select: the decoder of de has no word_prediction from its initial state; "
                "put it on in"
            ),
        ),
        ("batching: {by: words}", "batching.by: found 'words'; expected 'sentences' or 'tokens'"),
        ("losses: {bridge: {weight: -1}}", "losses.bridge.weight: found -1; expected at least 0"),
        (
            "losses: {translation: {weight: 0}}",
            "losses.translation.weight: found 0; expected more than 0",
        ),
        (
            "losses: {agreement: {weight: 1.0}}\nparallel: {placement: partitioned}",
            (
                "losses.agreement: needs the encoder of each target's language, "
                "which parallel.placement 'partitioned' may keep on another"
            ),
        ),
        (
            "losses: {reference_consistency: {weight: 1.0}}\nparallel: {placement: partitioned}",
            "losses.reference_consistency: needs the encoder of each target's language, which",
        ),
        ("seeed: 3", "seeed: no key named 'seeed'. Did you mean 'seed'?"),
        ("seed: one", "seed: found 'one'; expected a whole number"),
        (f"seed: {2**64}", f"seed: found {2**64}; expected less than"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(wrong, sentence, problems):
    found = problems(f"{MINIMAL}{wrong}\n")
    assert len(found) == 1 and found[0].startswith(sentence), found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (MINIMAL.replace("[en, de, fr]", "[en, de, en]"), "languages: en named twice"),
        (
            MINIMAL.replace("[en, de, fr]", "[en, de, deu_Latn]"),
            (
                "languages: 'de' and 'deu_Latn' are two spellings of one language, de; "
                "keep one of them"
            ),
        ),
        (
            MINIMAL.replace("[en, de, fr]", "[en, pt-BR]"),
            "languages: 'pt-BR' is no language code; use letters, digits and underscores, "
            "such as 'de' or 'pt_BR'",
        ),
        (
            MINIMAL.replace("[en, de, fr]", "[en, d-e]"),
            "languages: 'd-e' is no language code; use letters, digits and underscores",
        ),
        (MINIMAL.replace("[en, de, fr]", "[]"), "languages: found []; expected at least 1 item"),
        (
            MINIMAL.replace("[en, de, fr]", "[en]"),
            "schedule.pairs: '*-*' matches no pair of the languages en",
        ),
        (MINIMAL.replace("languages: [en, de, fr]\n", ""), "languages: missing; it has no default"),
        (MINIMAL.replace("training: {steps: 10}\n", ""), "training: missing; it has no default"),
        (MINIMAL.replace("{steps: 10}", "{}"), "training.steps: missing; it has no default"),
        (
            MINIMAL.replace('[{type: text, path: "train.{language}"}]', "[]"),
            "data.train: found []; expected at least 1 item",
        ),
        (
            MINIMAL.replace("type: text", "type: txt"),
            "data.train.0.type: no type named 'txt'. Did you mean 'text'?",
        ),
        (
            MINIMAL.replace("{language}", "de"),
            "data.train.0: the path 'train.de' names no {language}; write 'train.{language}.gz'",
        ),
        (
            MINIMAL.replace('path: "train.{language}"', "pairs: {de: [a, b]}"),
            "data.train.0.pairs: 'de' is no language pair",
        ),
        (
            MINIMAL.replace('path: "train.{language}"', "pairs: {de-en: [a]}"),
            "data.train.0.pairs.de-en: found [a]; expected at least 2 items",
        ),
    ],
)
def test_what_is_wrong_with_what_every_run_needs(text, sentence, problems):
    found = problems(text)
    assert len(found) == 1 and found[0].startswith(sentence), found


def test_everything_wrong_is_said_at_once(problems, tmp_path):
    wrong = "seeed: 3\nmodel: {encoder: lsmt, bridge: {type: attention, heads: 0}}\n"
    wrong += "optimizer: {type: adam, momentum: 0.9}\nbatching: {size: big}\n"
    found = problems(MINIMAL + wrong)
    assert {sentence.split(": ")[0] for sentence in found} == {
        "seeed", "model.encoder.type", "model.bridge.heads", "optimizer.momentum", "batching.size"
    }  # fmt: skip
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "mine.yaml")
    assert str(error.value).splitlines()[0] == f"{tmp_path / 'mine.yaml'}: 5 problems"
    assert len(str(error.value).splitlines()) == 6


def test_contradictions_are_said_at_once_too(problems):
    wrong = (
        "schedule: {pairs: [xx-de]}\nvalidation: {bleu_pairs: [de-yy]}\nsearch: {n_best: 7}\n"
        "model: {languages: {zz: {}}}\n"
    )
    found = problems(MINIMAL + wrong)
    assert [sentence.split(": ")[0] for sentence in found] == [
        "model.languages.zz",
        "schedule.pairs",
        "validation.bleu_pairs",
        "search.n_best",
    ]


def test_what_depends_on_a_wrong_schedule_does_not_hide_the_rest(problems):
    wrong = (
        "schedule: {pairs: [xx-de]}\nfreeze: [encodr.de]\ntrained_before: [de-zz]\n"
        "validation: {bleu_pairs: [de-yy, en-qq]}\n"
    )
    assert [sentence.split(": ")[0] for sentence in problems(MINIMAL + wrong)] == [
        "schedule.pairs",
        "trained_before",
        "validation.bleu_pairs",
        "validation.bleu_pairs",
        "freeze",
    ]


def test_a_language_named_twice_is_one_problem(problems):
    found = problems(MINIMAL.replace("[en, de, fr]", "[en, en]") + "schedule: english_centric\n")
    assert found == ["languages: en named twice"]


def test_what_is_wrong_for_all_languages_is_not_said_again_of_one(problems):
    [problem] = problems(MINIMAL + "vocabulary: {type: bpee, languages: {fr: {size: 50}}}\n")
    assert problem.startswith("vocabulary.type: ")


CONTRADICTION = (
    "search: {n_best: 7}\nvalidation: {bleu_pairs: [de-yy]}\nmodel: {languages: {zz: {}}}\n"
    "schedule: {pairs: [xx-de]}\n"
)


WRONG_DATA = "data: {valid: [{type: phrasebook, split: valid}]}"


@pytest.mark.parametrize(
    "wrong",
    [
        "seeed: 3",
        WRONG_DATA,
        "training: {steps: many}",
        "optimizer: adma",
        "losses: 3",
        "text: [lowercase]",
    ],
)
def test_contradictions_are_said_together_with_what_is_wrong_elsewhere(wrong, problems):
    section = wrong.partition(":")[0]
    rest = "".join(f"{line}\n" for line in MINIMAL.splitlines() if not line.startswith(section))
    assert problems(rest + CONTRADICTION + wrong + "\n") == problems(f"{rest}{wrong}\n") + problems(
        MINIMAL + CONTRADICTION
    )


@pytest.mark.parametrize(
    "wrong",
    [
        "schedule: 3",
        "search: {beam: large}",
        "validation: {best_by: blue}",
        "model: {encodr: lstm}",
    ],
)
def test_what_is_wrong_contradicts_nothing(wrong, problems):
    """One language has no pairs for the schedule that is meant where none is named; but one is
    named, if wrongly.
    """
    own = wrong.partition(":")[0]
    rest = "schedule: {pairs: [en-en]}\n" if own != "schedule" else ""
    assert len(problems(MINIMAL.replace("[en, de, fr]", "[en]") + rest + f"{wrong}\n")) == 1


@pytest.mark.parametrize(
    ("pairs", "bleu"),
    [("[de-en]", "en-de"), ("[de-en]", "fr-en"), ("[de-en]", "de-fr")],
)
def test_bleu_needs_components_that_some_task_trains(pairs, bleu, problems):
    source, target = bleu.split("-")
    assert problems(
        f"{MINIMAL}schedule: {{pairs: {pairs}}}\nvalidation: {{bleu_pairs: [{bleu}]}}\n"
    ) == [
        (
            f"validation.bleu_pairs: {bleu} needs an encoder of {source} and a decoder of "
            f"{target}, which no task trains"
        )
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {"bleu_pairs": ["de-en"]},
        {"patience": 3},
        {"bleu_pairs": ["de-en"], "best_by": "bleu", "patience": 3},
    ],
)
def test_what_is_asked_of_held_out_text_needs_some(settings, problems, load):
    asked = f"validation: {json.dumps(settings)}\n"
    load(MINIMAL + asked)
    assert problems(MINIMAL.replace(", valid: [{type: phrasebook, split: valid}]", "") + asked) == [
        f"validation.{key}: needs held-out text, and data.valid names no corpus" for key in settings
    ]


def test_held_out_text_is_missed_beside_other_mistakes_but_not_where_it_is_wrong_itself(problems):
    without, asked = (
        MINIMAL.replace(", valid: [{type: phrasebook, split: valid}]", ""),
        "validation: {patience: 3}\nseeed: 3\n",
    )
    missed = "validation.patience: needs held-out text, and data.valid names no corpus"
    assert missed in problems(without + asked) and len(problems(without + asked)) == 2
    assert len(problems(MINIMAL + asked)) == 1
    assert missed in problems(without.replace("type: text", "type: txt") + asked)
    wrong = problems(MINIMAL.replace("split: valid", "split: vlaid") + asked)
    assert len(wrong) == 2 and missed not in wrong


def test_what_is_wrong_in_a_section_does_not_hide_the_rest_of_it(problems):
    """Each section has something wrong by itself, and something that contradicts another key."""
    wrong = """
schedule:
  {pairs: [en-xx, en-de, yy-en, de], exclude: [xx-*], copies: [de, zz], tasks_per_update: 0,
   phases: [{pairs: [fr-xx], copies: [qq]}]}
validation: {bleu_pairs: [de-yy], every: often}
model: {languages: {zz: {}}, encodr: lstm}
search: {beam: 3, n_best: 7, length_penalty: long}
"""
    assert [sentence.split(": ")[0] for sentence in problems(MINIMAL + wrong)] == [
        "schedule.tasks_per_update", "model.encodr", "validation.every", "search.length_penalty",
        "languages", "languages", "languages",  # zz, xx and yy are in several keys
        "schedule.pairs", "schedule.phases.0.copies", "search.n_best",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        "search: {beam: x, n_best: 7}",
        "validation: {best_by: bleu, bleu_pairs: en-de}",
        "schedule: {copies: 3, pairs: [en-de], phases: [{copies: true}]}",
        "schedule: {pairs: 3, copies: [de], exclude: [de-de, '*-*']}",
        "schedule: {type: weighted, pairs: 3, weights: {de-de: 2.0}}",
        "parallel: {placement: partitioned, tasks: 3}",
    ],
)
def test_no_key_contradicts_one_that_is_wrong_itself(wrong, problems):
    assert len(problems(f"{MINIMAL}{wrong}\n")) == 1


def test_what_is_wrong_for_the_components_of_all_is_not_said_again_of_one(problems):
    wrong = (
        "{decoder: {size: big}, encoder: lsmt, languages: {de: {encoder: {layers: 1}}, zz: "
        "{embedding: {size: 3}}}}"
    )
    assert [sentence.split(": ")[0] for sentence in problems(f"{MINIMAL}model: {wrong}\n")] == [
        "model.encoder.type", "model.decoder.size", "model.languages.zz"
    ]  # fmt: skip


def test_a_check_between_keys_says_everything_it_finds(problems, tmp_path):
    """pydantic takes one error of a validator: it holds a line for each problem."""
    wrong = """
schedule: {phases: [{from_step: 9, until_step: 3}]}
model:
  embedding: {size: 16, tie_output: true}
  encoder: {size: 16}
  decoder: {size: 32, attention: dot}
  bridge: {type: transformer, heads: 3}
  languages: {de: {encoder: {layers: 1}}, fr: {decoder: {size: 64}}}
"""
    assert [
        sentence.split(", found")[0].split(" (")[0] for sentence in problems(MINIMAL + wrong)
    ] == [
        "schedule.phases.0: names neither pairs nor copies; name what trains in this phase",
        "schedule.phases.0: until_step 3 is not after from_step 9",
        "model.embedding.tie_output: needs embedding.size",
        "model.decoder.attention: 'dot' needs decoder.size",
        "model.languages.fr.embedding.tie_output: needs embedding.size",
        "model.languages.fr.decoder.attention: 'dot' needs decoder.size",
        "model.bridge.heads: 3 heads cannot share size 16; use a number that divides it",
    ]
    options = "{encoder: [word_prediction, word_prediction], decoder: [roles, roles]}"
    assert problems(f"{MINIMAL}model: {{options: {options}}}\n") == [
        "model.options.encoder: word_prediction named twice; once is enough",
        "model.options.encoder: word_prediction cannot be added to an encoder, only to a decoder",
        "model.options.decoder: roles named twice; once is enough",
    ]
    files = "{en: [a, b], fr-de: [a, b], d-: [a, b]}"
    found = problems(MINIMAL.replace('path: "train.{language}"', f"pairs: {files}"))
    assert [sentence.split()[1] for sentence in found] == ["'en'", "'d-'"]


def test_every_weight_that_is_of_no_task_is_said(problems):
    [sentence] = problems(
        MINIMAL
        + (
            "schedule: {type: weighted, pairs: [en-de], weights: {de-fr: 2.0, en-fr: 1.0, en-de: "
            "1.0}}\n"
        )
    )
    assert sentence == (
        "schedule.weights: not among schedule.pairs and schedule.copies: de-fr, en-fr; "
        "there are en-de"
    )


def test_bleu_of_a_zero_shot_pair_is_fine(load):
    load(
        MINIMAL
        + "schedule: {pairs: [de-en, en-fr]}\nvalidation: {bleu_pairs: [de-fr], best_by: bleu}\n"
    )


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            "{embedding: {tie_output: true, size: 16}, decoder: {type: lstm, size: 32}}",
            "model.embedding.tie_output: needs embedding.size",
        ),
        (
            "{encoder: {type: lstm, size: 16}, decoder: {type: lstm, size: 32, attention: dot}}",
            "model.decoder.attention: 'dot' needs decoder.size (32)",
        ),
        (
            "{languages: {de: {embedding: {tie_output: true, size: 16}}}}",
            "model.languages.de.embedding.tie_output: needs embedding.size",
        ),
    ],
)
def test_sizes_that_do_not_fit(model, sentence, problems):
    found = problems(f"{MINIMAL}model: {model}\n")
    assert len(found) == 1 and found[0].startswith(sentence), found


def test_no_such_configuration():
    with pytest.raises(
        ConfigError,
        match=(
            "phrasebok: neither a file nor shipped with Polyglot: "
            "no configuration named 'phrasebok'. Did you mean 'phrasebook'"
        ),
    ):
        load_config("phrasebok")


# Languages that differ ----------------------------------------------------------------------------


def model(text):
    return ModelConfig.model_validate(parse_value(text))


def test_a_language_names_only_its_differences():
    config = model(
        (
            "{encoder: {type: gru, size: 16, layers: 3}, embedding: {size: 7}, languages: {de: "
            "{encoder: {layers: 1}}}}"
        )
    )
    assert config.for_language("de").encoder == config.encoder.model_copy(update={"layers": 1})
    assert (
        config.for_language("de").embedding == config.embedding
        and config.for_language("de").decoder == config.decoder
    )
    assert config.for_language("fr") is config


def test_differences_from_what_nobody_named():
    config = model("{languages: {de: {encoder: {layers: 1}, embedding: {size: 5}}}}")
    default = model("{}")
    assert config.for_language("de").encoder == default.encoder.model_copy(update={"layers": 1})
    assert (
        config.for_language("de").embedding == default.embedding.model_copy(update={"size": 5})
        and config.for_language("de").decoder == default.decoder
    )


def test_another_type_shares_nothing_with_the_common_one():
    config = model(
        (
            "{encoder: {type: gru, size: 16, layers: 3}, languages: {de: {encoder: {type: lstm, "
            "size: 8}}, fr: {encoder: lstm}}}"
        )
    )
    default = model("{encoder: lstm}").encoder
    assert config.for_language("de").encoder == default.model_copy(update={"size": 8})
    assert config.for_language("fr").encoder == default


@pytest.mark.parametrize("common", ["{size: 16}", "{type: lstm, size: 16}"])
@pytest.mark.parametrize("own", ["lstm", "{type: lstm}", "{size: 16}"])
def test_the_default_type_need_not_be_said_to_be_shared(common, own):
    config = model(f"{{encoder: {common}, languages: {{de: {{encoder: {own}}}}}}}")
    assert config.for_language("de").encoder == config.encoder and config.encoder.size == 16


# Overrides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("training.steps=7", "training.steps", 7),
        ("optimizer={type: sgd, learning_rate: 1e-2}", "optimizer.learning_rate", 0.01),
        ("optimizer=sgd", "optimizer.type", "sgd"),
        ("model.encoder=gru", "model.encoder.type", "gru"),
        ("training.clip_norm=null", "training.clip_norm", None),
        ("training.clip_norm=", "training.clip_norm", None),
        ("schedule.pairs=[de-en, fr-en]", "schedule.pairs", ["de-en", "fr-en"]),
        ("data.train.0.path=other.{language}", "data.train.0.path", "other.{language}"),
        ("data.folder=/a=b", "data.folder", "/a=b"),
        ("model.languages.de.encoder={type: gru, size: 4}", "model.languages.de.encoder.size", 4),
        ("run=my run", "run", "my run"),
    ],
)
def test_an_override_lies_on_top(override, path, value, load):
    found = load(MINIMAL, override)
    for key in path.split("."):
        found = (
            found[int(key)]
            if key.isdigit()
            else found[key]
            if isinstance(found, dict)
            else getattr(found, key)
        )
    assert found == value


def test_a_name_alone_can_be_overridden_below(load):
    text = MINIMAL + (
        "model: {encoder: gru, languages: {de: {decoder: gru}}}\noptimizer: sgd\n"
        "learning_rate_schedule: linear\n"
    )
    config = load(
        text,
        "model.encoder.size=64",
        "model.languages.de.decoder.layers=1",
        "optimizer.momentum=0.5",
        "learning_rate_schedule.warmup=3",
    )
    assert (config.model.encoder.type, config.model.encoder.size) == ("gru", 64)
    assert (
        config.model.for_language("de").decoder.type,
        config.model.for_language("de").decoder.layers,
    ) == ("gru", 1)
    assert (
        config.optimizer.type,
        config.optimizer.momentum,
        config.learning_rate_schedule.warmup,
    ) == ("sgd", 0.5, 3)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("model.encoder.size", 64),
        ("model.decoder.size", 64),
        ("model.bridge.heads", 3),
        ("model.embedding.size", 64),
        ("optimizer.learning_rate", 0.01),
        ("learning_rate_schedule.warmup", 3),
        ("schedule.copies", True),
        ("vocabulary.size", 500),
    ],
)
def test_a_setting_of_what_nobody_named_is_one_of_the_default(setting, value, load):
    """On the command line as in the file; the type and everything else stay what they are without
    it.
    """
    section, *below, key = setting.split(".")
    settings = {key: value}
    for part in reversed(below):
        settings = {part: settings}
    whole = load()
    parts = [whole]
    for part in (section, *below):
        parts.append(getattr(parts[-1], part))
    changed = parts.pop().model_copy(update={key: value})
    for part, name in zip(reversed(parts), reversed((section, *below))):
        changed = part.model_copy(update={name: changed})
    assert (
        load(MINIMAL, f"{setting}={str(value).lower()}")
        == load(MINIMAL + yaml.safe_dump({section: settings}))
        == changed
    )


def test_the_last_override_wins(load):
    assert (
        load(MINIMAL, "training.steps=7", "training={steps: 8}", "training.steps=9").training.steps
        == 9
    )


def test_schedules_by_name_and_what_lies_on_top(load):
    text = MINIMAL + "schedule: with_copies\n"
    named = load(text)
    assert named.schedule.copies is True and set(map(str, named.pairs)) >= {
        "en-de",
        "de-en",
        "de-de",
    }
    without = load(text, "schedule=english_centric")
    assert without.schedule.copies is False and without.schedule.tasks_per_update == 1
    two = load(text, "schedule.tasks_per_update=2")
    assert two.schedule == named.schedule.model_copy(update={"tasks_per_update": 2})
    assert load(text, "schedule.type=round_robin").tasks == named.tasks
    assert load(text, "schedule=many_to_many", "schedule.copies=[de]").pairs[-1].is_copy
    assert load(MINIMAL + "schedule: {base: with_copies, copies: false}\n").pairs == without.pairs
    assert (
        load(MINIMAL, "schedule.copies=true").pairs
        == load(MINIMAL + "schedule: {copies: true}\n").pairs
    )


def test_a_schedule_of_the_users(load, tmp_path):
    (tmp_path / "mine_too.yaml").write_text("type: round_robin\npairs: [de-fr]\n")
    config = load(MINIMAL, f"schedule={tmp_path / 'mine_too.yaml'}")
    assert config.schedule.type == "round_robin" and list(map(str, config.pairs)) == ["de-fr"]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("training.stepz=5", "training.stepz: no key named 'stepz'. Did you mean 'steps'?"),
        ("training.steps=many", "training.steps: found 'many'; expected a whole number"),
        (
            "training.steps",
            "training.steps: an override is written key=value, such as training.steps=1000",
        ),
        ("=5", "'=5': an override is written key=value"),
        (
            "training.steps.x=5",
            "training.steps.x: training.steps is 10 and has no keys below it",
        ),
        (
            "data.train.7.path=x",
            "data.train.7.path: '7' is no item of a list of 1; they count from 0",
        ),
        ("data.train.first.path=x", "data.train.first.path: 'first' is no item of a list of 1"),
        ("training.steps=[1", "training.steps: '[1': no valid YAML"),
        (
            "schedule.pairs=[*-en]",
            (
                "schedule.pairs: '[*-en]': no valid YAML; what begins with * needs quotes: "
                """'["*-en"]'"""
            ),
        ),
        (
            "schedule.pairs=[de-en, *-*]",
            (
                "schedule.pairs: '[de-en, *-*]': no valid YAML; what begins with * needs quotes: "
                """'[de-en, "*-*"]'"""
            ),
        ),
        (
            "schedule.base=foo",
            (
                "schedule: foo: neither a file nor shipped with Polyglot: "
                "no schedule named 'foo'. Known: bilingual"
            ),
        ),
        ("nonsense.deep.key=1", "nonsense: no key named 'nonsense'."),
    ],
)
def test_an_override_that_cannot_be_meant(override, sentence, problems):
    found = problems(MINIMAL, override)
    assert len(found) == 1 and found[0].startswith(sentence), found


def test_overrides_and_schedules_that_cannot_be_meant_are_said_with_everything_else(
    problems, tmp_path
):
    (tmp_path / "broken.yaml").write_text("pairs: [de-en\n")
    text = MINIMAL.replace("10", "many") + CONTRADICTION.replace(
        "schedule: {pairs: [xx-de]}\n", "seeed: 3\n"
    )
    others = problems(text)
    assert len(others) == 5
    broken = tmp_path / "broken.yaml"
    for schedule, said in (
        ("foo", "schedule: foo: neither"),
        (broken, f"schedule: {broken}: line "),
        ("[x]", "schedule.base: the name"),
    ):
        found = problems(
            text, f"schedule.base={schedule}", "batching.size=[1", "data.train.7.path=x"
        )
        assert (
            sorted(found[3:]) == sorted(others)
            and found[0] == "batching.size: '[1': no valid YAML"
            and found[2].startswith(said)
        ), found


@pytest.mark.parametrize(
    "overrides",
    [["schedule=nope"], ["schedule=nope", "schedule.pairs=[xx]"], ["schedule={base: nope}"]],
    ids=str,
)
def test_a_schedule_that_is_none_is_said_of_what_the_user_wrote(overrides, problems):
    [problem] = problems(MINIMAL, *overrides)
    assert problem.startswith(
        (
            "schedule: nope: neither a file nor shipped with Polyglot: no schedule named 'nope'. "
            "Known: bilingual"
        )
    )


def test_a_pattern_without_quotes_in_a_file(problems, load):
    [problem] = problems(MINIMAL + "schedule:\n  pairs: [*-en]\n")
    assert "line 5: no valid YAML: " in problem and problem.endswith(
        """; what begins with * needs quotes: 'pairs: ["*-en"]'"""
    )
    load(MINIMAL, 'schedule.pairs=["*-en"]')


def test_what_a_wrong_override_would_have_set_is_not_missed_as_well(problems):
    assert problems(MINIMAL.replace("steps: 10", "log_every: 1"), "training.steps=[1") == [
        "training.steps: '[1': no valid YAML"
    ]


# YAML as people mean it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[en, no, on, y]", ["en", "no", "on", "y"]),
        ("[true, false]", [True, False]),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("-1.5e+2", -150.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("[1, -2, +3, 0]", [1, -2, 3, 0]),
        (".inf", float("inf")),
        ("null", None),
        ("'1e-3'", "1e-3"),
        ("1e", "1e"),
        ("e5", "e5"),
        ("1.2.3", "1.2.3"),
        ("de-en", "de-en"),
    ],
)
def test_scalars(text, value):
    found = parse_value(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "name",
    [
        "1e3",
        "no",
        "5",
        "0x1F",
        "1_000",
        "12:30",
        "null",
        "~",
        "2024-01-01",
        "yes",
        " a ",
        "a: b",
        "#1",
        "é",
        "true",
        ".5",
    ],
)
def test_text_that_looks_like_something_else_survives_writing(name, load, tmp_path):
    config = load(f"{MINIMAL}run: '{name}'\n")
    (tmp_path / "config.yaml").write_text(config.to_yaml(), encoding="utf-8")
    assert config.run == name and load_config(tmp_path / "config.yaml") == config


def test_norwegian_is_a_language(load):
    config = load(MINIMAL.replace("[en, de, fr]", "[en, no]"))
    assert config.languages == ["en", "no"] and "'no'" in config.to_yaml()


def test_a_key_given_twice_is_refused_with_its_line(tmp_path):
    (tmp_path / "twice.yaml").write_text("languages: [de]\ntraining:\n  steps: 1\n\n  steps: 2\n")
    with pytest.raises(
        ConfigError, match="twice.yaml: line 5: no valid YAML: the key 'steps' is given twice"
    ):
        read_yaml(tmp_path / "twice.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [1, 2\nc: 3\n", 3), ("a: 1\n\tb: 2\n", 2), ("a: 'open\n", 2), ("a: {b: 1}}\n", 1)],
)
def test_what_is_no_yaml_is_refused_with_its_line(text, line, tmp_path):
    (tmp_path / "broken.yaml").write_text(text)
    with pytest.raises(ConfigError, match=f"broken.yaml: line {line}: no valid YAML"):
        read_yaml(tmp_path / "broken.yaml")


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "nothing"), ("- a\n- b\n", r"\[a, b\]"), ("just words\n", "'just words'")],
)
def test_a_file_is_a_mapping(text, found, tmp_path):
    (tmp_path / "odd.yaml").write_text(text)
    with pytest.raises(
        ConfigError, match=f"odd.yaml: a mapping of keys is expected, found {found}"
    ):
        read_yaml(tmp_path / "odd.yaml")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.yaml").write_bytes("run: Köln\n".encode("latin-1"))
    (tmp_path / "zero.yaml").write_text("seed: \0\n")
    (tmp_path / "mine.yaml.gz").write_bytes(gzip.compress(b"seed: 1\n"))
    (tmp_path / "deep.yaml").write_text("a: " + "[" * 5000)
    for path, sentence in (
        (
            "latin.yaml",
            "latin.yaml: line 1: not UTF-8 (invalid start byte 0xf6); write the file in UTF-8",
        ),
        ("mine.yaml.gz", "mine.yaml.gz: is gzipped; YAML is read plain, so unpack it with gunzip"),
        ("none.yaml", "none.yaml: cannot be read: No such file or directory"),
        (".", ": cannot be read: Is a directory"),
        ("zero.yaml", "zero.yaml: no valid YAML: the character U+0000 is not allowed"),
        ("deep.yaml", "deep.yaml: no valid YAML: nested too deeply"),
    ):
        with pytest.raises(ConfigError, match=f"{re.escape(sentence)}$"):
            read_yaml(tmp_path / path)
    with pytest.raises(ConfigError, match="no valid YAML") as error:
        parse_value("[" * 5000)
    assert len(str(error.value)) < 100


def test_parts_can_be_shared_by_anchors(tmp_path):
    (tmp_path / "anchors.yaml").write_text(
        "a: &common {size: 1, layers: 2}\nb: {<<: *common, layers: 3}\nc: *common\n"
    )
    assert read_yaml(tmp_path / "anchors.yaml") == {
        "a": {"size": 1, "layers": 2}, "b": {"size": 1, "layers": 3}, "c": {"size": 1, "layers": 2}
    }  # fmt: skip


def test_yaml_runs_no_code(tmp_path):
    (tmp_path / "evil.yaml").write_text("a: !!python/object/apply:os.system ['true']\n")
    with pytest.raises(ConfigError, match="line 1: no valid YAML"):
        read_yaml(tmp_path / "evil.yaml")


@pytest.mark.parametrize(
    ("key", "most"),
    [
        ("model.embedding.size", 65536),
        ("model.encoder.size", 65536),
        ("model.encoder.layers", 256),
        ("model.initial_range", 10),
        ("vocabulary.size", 1000000),
        ("schedule.copy_weight", 1000),
        ("search.max_length_extra", 10000),
        ("search.max_length_ratio", 100),
        ("data.filter.max_ratio", 1000),
    ],
)
def test_what_no_machine_can_do_is_refused(key, most, load, problems):
    load(MINIMAL, f"{key}={most}")
    assert problems(MINIMAL, f"{key}={most + 1}") == [
        f"{key}: found {most + 1}; expected at most {most}"
    ]


def test_the_users_folder_in_paths(load, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    pairs = "{type: text, pairs: {de-en: [~/a.de, ~/a.en]}}"
    table = "{type: tsv, path: ~/a.tsv, columns: {de: 1, en: 2}}"
    config = load(
        MINIMAL,
        "run=~/zz",
        "data.folder=~/text",
        "data.train.0.path=~/{language}",
        f"data.test=[{pairs}, {table}]",
        "initialize={bridge: ~/other}",
    )
    assert (config.run, config.data.folder, config.initialize["bridge"].run) == (
        "/home/me/zz",
        "/home/me/text",
        "/home/me/other",
    )
    assert config.data.train[0].path == "/home/me/{language}"
    assert (
        config.data.test[0].pairs["de-en"] == ["/home/me/a.de", "/home/me/a.en"]
        and config.data.test[1].path == "/home/me/a.tsv"
    )


def test_a_mistyped_corpus_type_is_one_problem_beside_all_others(tmp_path):
    for language in ("en", "de"):
        (tmp_path / f"train.{language}").write_text("a\n")
    values = {
        "languages": ["en", "de", "fr", "es", "it", "nl", "pt"],
        "data": {
            "folder": str(tmp_path),
            "train": [
                {"type": "text", "path": "train.{language}"},
                {"type": "tetx", "path": "other.{language}"},
            ],
        },
        "training": {"steps": 0},
    }
    with pytest.raises(ConfigError) as error:
        configure(values, [], run="r", where="mine", extra_problems=preflight_problems)
    assert [problem.key for problem in error.value.problems] == [
        "data.train.1.type",
        "training.steps",
    ]
