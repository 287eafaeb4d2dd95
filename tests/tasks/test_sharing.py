"""Sharing groups: one component, one file and one gradient for all languages of a group."""

from __future__ import annotations

import pytest
import torch

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.inference.translator import Translator
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig
from tests.builders.models import VOCABULARY, random_batch, tiny_config
from tests.builders.runs import make_trainer, tiny_run, tiny_settings, train

PAIRS = [LanguagePair.parse(pair) for pair in ("de-en", "en-de", "en-fr", "fr-en")]
SHARE_ALL = dict.fromkeys(SharingConfig.model_fields, "all")


def build_model(sharing, decoder="lstm", **settings):
    return TranslationModel(
        tiny_config(decoder=decoder, **settings),
        vocabulary_sizes=dict.fromkeys(["de", "en", "fr"], VOCABULARY),
        pairs=PAIRS,
        seed=1,
        sharing=SharingConfig(**sharing),
    )


def component_sizes(model):
    sizes = {}
    for name, parameters in model.component_parameters().items():
        sizes[name] = sum(parameter.numel() for parameter in parameters.values())
    return sizes


# Components


def test_if_all_is_shared_a_language_has_only_its_target_vector():
    sizes = component_sizes(build_model(SHARE_ALL, embedding={"tie_sides": True}))
    assert sizes.keys() == {
        "embedding.all",
        "encoder.all",
        "bridge",
        "decoder.all",
        "decoder.de",
        "decoder.en",
        "decoder.fr",
    }
    assert sizes["decoder.de"] == 12
    assert sizes["decoder.en"] == 12
    assert sizes["embedding.all"] == 12 * VOCABULARY


def test_languages_of_a_group_share_and_other_languages_do_not():
    west = {"west": ["de", "en"]}
    model = build_model({"encoder": west, "vocabulary": west, "embeddings": west})
    names = model.component_parameters().keys()
    assert names >= {
        "source_embedding.west",
        "target_embedding.west",
        "encoder.west",
        "encoder.fr",
        "decoder.de",
    }
    assert not names & {"encoder.de", "encoder.en", "decoder.west"}
    assert model.encoders["de"].body is model.encoders["en"].body
    assert model.encoders["de"].body is not model.encoders["fr"].body
    assert model.decoders["de"].embedding.language is None


def test_a_shared_encoder_has_an_embedding_for_each_vocabulary():
    components = build_model({"encoder": "all"}).component_parameters()
    assert list(components["encoder.de"]) == ["embedding.table.weight"]
    for name in components["encoder.all"]:
        assert name.startswith("body.")


def test_the_output_layer_is_shared_only_with_the_vocabulary():
    components = build_model({"decoder": "all"}).component_parameters()
    assert "output.weight" in components["decoder.de"]
    components = build_model({"decoder": "all", "vocabulary": "all"}).component_parameters()
    assert "output.weight" in components["decoder.all"]


def test_a_tied_output_layer_is_shared_only_with_the_embeddings():
    model = build_model(
        {"decoder": "all", "vocabulary": "all"}, embedding={"size": 16, "tie_output": True}
    )
    german = model.decoders["de"]
    assert german.output is not model.decoders["en"].output
    assert german.output.weight is german.embedding.table.weight


def test_the_target_vector_decides_the_language_of_a_shared_decoder():
    model = build_model(SHARE_ALL).eval()
    batch = random_batch("en-de")
    memory = model.encode("en", batch.source, batch.source_mask)

    def states(language):
        return model.decoders[language](batch.target_in, batch.target_mask, memory)

    assert not torch.allclose(states("de"), states("fr"))
    german_vector = model.decoders["de"].embedding.language
    with torch.no_grad():
        model.decoders["fr"].embedding.language.copy_(german_vector)
    assert torch.equal(states("de"), states("fr"))


def test_a_group_does_not_change_the_components_of_other_languages():
    without_groups = build_model({})
    with_group = build_model({"encoder": {"pair": ["de", "fr"]}})
    weights = []
    for model in (without_groups, with_group):
        weights.append(model.encoders["en"].body.layers[0].forwards.weight_ih_l0)
    assert torch.equal(*weights)
    for decoder in without_groups.decoders.values():
        assert decoder.embedding.language is None


# Training


@pytest.mark.parametrize(
    "decoder",
    [
        {"type": "lstm", "size": 16, "layers": 1, "dropout": 0.0},
        {
            "type": "transformer",
            "size": 16,
            "layers": 1,
            "dropout": 0.0,
            "heads": 2,
            "feed_forward": 24,
        },
    ],
    ids=["lstm", "transformer"],
)
def test_a_fully_shared_model_trains_and_translates(decoder, tmp_path):
    model = {"embedding": {"tie_sides": True}, "decoder": decoder}
    run = tiny_run(tmp_path, sharing="all", model=model)
    train(run)
    vocabularies = [path.name for path in (run.path / "vocabulary").glob("*.model")]
    assert vocabularies == ["all.model"]
    translator = Translator.load(run.path)
    assert len(translator.translate(["one two", "cat"], source="en", target="fr")) == 2

    partial_translator = Translator.load(run.path, pairs=[LanguagePair("de", "fr")])
    expected = translator.translate(["ein Hund"], source="de", target="fr")
    assert partial_translator.translate(["ein Hund"], source="de", target="fr") == expected


def test_the_gradient_of_a_shared_component_is_the_mean_over_its_tasks(tmp_path):
    """Of two tasks in an update; a component of one task has the gradient of that task."""
    run = tiny_run(
        tmp_path,
        sharing={"encoder": "all"},
        schedule={"type": "round_robin", "pairs": ["en-de", "de-en"], "tasks_per_update": 2},
    )
    trainer = make_trainer(run)
    trainer.settings = trainer.settings.model_copy(update={"clip_norm": None})
    batches, gradients = gradients_of_one_update(trainer)

    total_tokens = sum(batch.target_tokens for batch in batches)
    expected_loss = 0
    for batch in batches:
        loss = trainer.criterion(trainer.model(batch), batch).total
        expected_loss = expected_loss + loss * batch.target_tokens / total_tokens
    expected_loss.backward()
    shared = trainer.parameters["encoder.all"].values()
    for parameter, gradient in zip(shared, gradients["encoder.all"]):
        assert torch.allclose(parameter.grad, gradient, atol=1e-6)

    for batch in batches:
        scale = total_tokens / batch.target_tokens
        name = f"encoder.{batch.task.source}"
        for parameter, gradient in zip(trainer.parameters[name].values(), gradients[name]):
            assert torch.allclose(parameter.grad * scale, gradient, atol=1e-6)


def gradients_of_one_update(trainer):
    """Return the batches of an update, and its gradients by component."""
    batches = []
    gradients = {}
    next_batches = trainer._next_batches

    def record_batches(plan):
        local_batches = next_batches(plan)
        for local in local_batches.values():
            batches.append(local.batch)
        return local_batches

    def record_gradients():
        for name, parameters in trainer.parameters.items():
            gradients[name] = [parameter.grad.clone() for parameter in parameters.values()]

    trainer._next_batches = record_batches
    trainer.optimizer.step = record_gradients
    trainer.update()
    return batches, gradients


# Problems


@pytest.mark.parametrize(
    ("sharing", "model", "message"),
    [
        ({"encoder": {"de": ["de", "fr"]}}, {}, "sharing.encoder.de: 'de' cannot name a group"),
        (
            {"encoder": {"west": ["de", "nl"]}},
            {},
            "sharing.encoder.west: no language named 'nl'. Known: de, en, fr",
        ),
        (
            {"decoder": {"a": ["de", "fr"], "b": ["de", "en"]}},
            {},
            "sharing.decoder: de named twice; a language shares with one group",
        ),
        (
            {"embeddings": "all"},
            {},
            "sharing.embeddings: en and de cannot share embeddings "
            "without sharing their vocabulary",
        ),
        (
            {"encoder": "all"},
            {"languages": {"fr": {"encoder": {"type": "gru"}}}},
            "sharing.encoder: en and fr cannot share while model.encoder differs between them",
        ),
        (
            {"decoder": {"west": ["de", "fr"]}},
            {"languages": {"fr": {"embedding": {"size": 8}}}},
            "sharing.decoder: de and fr cannot share "
            "while model.embedding.size differs between them",
        ),
        (
            {"encoders": "all"},
            {},
            "sharing.encoders: no key named 'encoders'. Did you mean 'encoder'?",
        ),
    ],
)
def test_impossible_groups_are_reported(sharing, model, message, tmp_path):
    settings = tiny_settings(tmp_path, sharing=sharing, model=model)
    with pytest.raises(ConfigError) as error:
        check_config(settings, where="tiny")
    problems = list(map(str, error.value.problems))
    assert any(problem.startswith(message) for problem in problems), problems
