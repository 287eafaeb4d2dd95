"""What languages share is one thing: one component, one file, one gradient; what they do not share is their own."""

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


def model(sharing, decoder="lstm", **settings):
    sharing = dict.fromkeys(SharingConfig.model_fields, "all") if sharing == "all" else sharing
    config = tiny_config(decoder=decoder, **settings)
    return TranslationModel(
        config,
        vocabulary_sizes=dict.fromkeys(["de", "en", "fr"], VOCABULARY),
        pairs=PAIRS,
        seed=1,
        sharing=SharingConfig(**sharing),
    )


def sizes(model):
    return {
        name: sum(one.numel() for one in own.values())
        for name, own in model.component_parameters().items()
    }


def test_everything_shared_leaves_a_language_its_tag():
    found = sizes(model("all", embedding={"tie_sides": True}))
    assert found.keys() == {
        "embedding.all",
        "encoder.all",
        "bridge",
        "decoder.all",
        "decoder.de",
        "decoder.en",
        "decoder.fr",
    }
    assert found["decoder.de"] == found["decoder.en"] == 12
    assert found["embedding.all"] == 12 * VOCABULARY


def test_a_group_shares_and_others_do_not():
    west = {"west": ["de", "en"]}
    found = model({"encoder": west, "vocabulary": west, "embeddings": west})
    assert found.component_parameters().keys() >= {
        "source_embedding.west",
        "target_embedding.west",
        "encoder.west",
        "encoder.fr",
        "decoder.de",
    }
    assert not found.component_parameters().keys() & {"encoder.de", "encoder.en", "decoder.west"}
    assert found.encoders["de"].body is found.encoders["en"].body is not found.encoders["fr"].body
    assert found.decoders["de"].embedding.language is None


def test_an_encoder_for_several_vocabularies_has_an_embedding_for_each():
    found = model({"encoder": "all"})
    assert list(found.component_parameters()["encoder.de"]) == ["embedding.table.weight"]
    assert all(key.startswith("body.") for key in found.component_parameters()["encoder.all"])


def test_output_layers_of_different_words_are_not_shared():
    assert "output.weight" in model({"decoder": "all"}).component_parameters()["decoder.de"]
    assert (
        "output.weight"
        in model({"decoder": "all", "vocabulary": "all"}).component_parameters()["decoder.all"]
    )
    tied = model(
        {"decoder": "all", "vocabulary": "all"}, embedding={"size": 16, "tie_output": True}
    )
    assert tied.decoders["de"].output is not tied.decoders["en"].output
    assert tied.decoders["de"].output.weight is tied.decoders["de"].embedding.table.weight


def test_the_tag_decides_what_a_shared_decoder_writes():
    shared = model("all").eval()
    batch = random_batch("en-de")
    memory = shared.encode("en", batch.source, batch.source_mask)
    write = lambda language: shared.decoders[language](batch.target_in, batch.target_mask, memory)  # noqa: E731
    assert not torch.allclose(write("de"), write("fr"))
    with torch.no_grad():
        shared.decoders["fr"].embedding.language.copy_(shared.decoders["de"].embedding.language)
    assert torch.equal(write("de"), write("fr"))


def test_without_sharing_nothing_is_other_than_before():
    alone, before = model({}), model({"encoder": {"pair": ["de", "fr"]}})
    assert torch.equal(
        alone.encoders["en"].body.layers[0].forwards.weight_ih_l0,
        before.encoders["en"].body.layers[0].forwards.weight_ih_l0,
    )
    assert all(decoder.embedding.language is None for decoder in alone.decoders.values())


@pytest.mark.parametrize("decoder", ["lstm", "transformer"])
def test_the_fully_shared_baseline_is_one_setting(decoder, tmp_path):
    own = {"type": decoder, "size": 16, "layers": 1, "dropout": 0.0} | (
        {"heads": 2, "feed_forward": 24} if decoder == "transformer" else {}
    )
    run = tiny_run(
        tmp_path, sharing="all", model={"embedding": {"tie_sides": True}, "decoder": own}
    )
    train(run)
    assert [path.name for path in (run.path / "vocabulary").iterdir()] == ["all.model"]
    translator = Translator.load(run.path)
    assert len(translator.translate(["one two", "cat"], source="en", target="fr")) == 2
    part = Translator.load(run.path, pairs=[LanguagePair("de", "fr")])
    assert part.translate(["ein Hund"], source="de", target="fr") == translator.translate(
        ["ein Hund"], source="de", target="fr"
    )


def test_gradients_of_what_is_shared_are_means_over_all_who_train_it(tmp_path):
    """Two tasks in an update: what both use has the mean over both, whatever else they use has its own."""
    run = tiny_run(
        tmp_path,
        sharing={"encoder": "all"},
        schedule={"type": "round_robin", "pairs": ["en-de", "de-en"], "tasks_per_update": 2},
    )
    trainer = make_trainer(run)
    batches = []
    take = trainer._next_batches

    def remembered(plan):
        taken = take(plan)
        batches.extend(local.batch for local in taken.values())
        return taken

    trainer._next_batches = remembered
    found = {}
    trainer.optimizer.step = lambda: found.update(
        {
            name: [one.grad.clone() for one in own.values()]
            for name, own in trainer.parameters.items()
        }
    )
    trainer.settings = trainer.settings.model_copy(update={"clip_norm": None})
    trainer.update()
    total = sum(batch.target_tokens for batch in batches)
    sum(
        trainer.criterion(trainer.model(batch), batch).total * batch.target_tokens / total
        for batch in batches
    ).backward()
    for one, gradient in zip(trainer.parameters["encoder.all"].values(), found["encoder.all"]):
        assert torch.allclose(one.grad, gradient, atol=1e-6)
    for batch in batches:
        scale = total / batch.target_tokens
        own = trainer.parameters[f"encoder.{batch.task.source}"]
        assert all(
            torch.allclose(one.grad * scale, gradient, atol=1e-6)
            for one, gradient in zip(own.values(), found[f"encoder.{batch.task.source}"])
        )


@pytest.mark.parametrize(
    ("sharing", "model", "sentence"),
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
            "sharing.embeddings: en and de cannot share embeddings without sharing their vocabulary",
        ),
        (
            {"encoder": "all"},
            {"languages": {"fr": {"encoder": {"type": "gru"}}}},
            "sharing.encoder: en and fr cannot share while model.encoder differs between them",
        ),
        (
            {"decoder": {"west": ["de", "fr"]}},
            {"languages": {"fr": {"embedding": {"size": 8}}}},
            "sharing.decoder: de and fr cannot share while model.embedding.size differs between them",
        ),
        (
            {"encoders": "all"},
            {},
            "sharing.encoders: no key named 'encoders'. Did you mean 'encoder'?",
        ),
    ],
)
def test_what_cannot_be_shared_is_said(sharing, model, sentence, tmp_path):
    with pytest.raises(ConfigError) as error:
        check_config(tiny_settings(tmp_path, sharing=sharing, model=model), where="tiny")
    assert any(str(problem).startswith(sentence) for problem in error.value.problems), (
        error.value.problems
    )
