"""Export of a direction to CTranslate2, which translates in the same way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.inference.translator import Translator
from polyglot.interop.ctranslate2 import _readme, export_ctranslate2
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.tasks.batch import EOS, SPECIAL_TOKENS
from polyglot.tasks.pairs import LanguagePair
from tests.builders.runs import make_trainer, sample_sentences, tiny_run, train

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra `ctranslate2` is not installed")

DE_EN = LanguagePair("de", "en")
LAYERS = {"type": "transformer", "size": 32, "layers": 2, "heads": 4, "feed_forward": 48}
MODELS = {
    "plain": {"bridge": "none"},
    "other sizes and kinds": {
        "embedding": {"size": 24, "scale": False},
        "encoder": {
            **LAYERS,
            "layers": 1,
            "heads": 2,
            "positions": "learned",
            "longest": 50,
            "activation": "gelu",
        },
        "bridge": "none",
        "decoder": {**LAYERS, "layers": 1, "size": 48, "heads": 3, "activation": "swiglu"},
        "states_size": 40,
    },
    "bridge that continues the encoder": {
        "encoder": {**LAYERS, "norm": "post"},
        "bridge": {
            "type": "transformer",
            "layers": 1,
            "heads": 4,
            "feed_forward": 24,
            "norm": "post",
        },
        "decoder": {**LAYERS, "norm": "post"},
    },
}


TRAINED_MODELS = ["plain"]
for name in list(MODELS)[1:]:
    TRAINED_MODELS.append(pytest.param(name, marks=pytest.mark.slow))


def untrained_run(folder: Path, name: str, **sections: object) -> Run:
    """Run of one of the MODELS; it has the tasks de-en and en-de."""
    model = {"embedding": {"size": 32}, "encoder": LAYERS, "decoder": LAYERS, **MODELS[name]}
    return tiny_run(
        folder,
        schedule={"pairs": ["de-en", "en-de"], "tasks_per_update": 2, "type": "round_robin"},
        training={"steps": 60, "log_every": 30},
        optimizer={"learning_rate": 0.01},
        model=model,
        **sections,
    )


def random_run(folder: Path, name: str, **sections: object) -> Run:
    """Run with large random parameters, also of biases and norms.

    Its translations differ as much as those of a trained model, and a parameter that is not
    exported changes them.
    """
    run = untrained_run(folder, name, **sections)
    trainer = make_trainer(run)
    enlarge_parameters(trainer.model)
    trainer.state.save()
    return run


@torch.no_grad()
def enlarge_parameters(model: TranslationModel) -> None:
    generator = torch.Generator().manual_seed(3)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.mul_(2)
        else:
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    biases = {decoder.output.bias for decoder in model.decoders.values()}
    for bias in biases:
        # Our search writes no special token but the end of a sentence.
        bias[: len(SPECIAL_TOKENS)] -= 50
        bias[EOS] += 52


def join_pieces(translator: Translator, pieces: list[str]) -> str:
    """Return the text of pieces of English."""
    vocabulary = translator.vocabularies["en"]
    ids_by_piece = {piece: id for id, piece in enumerate(vocabulary.pieces(range(len(vocabulary))))}
    [text] = vocabulary.decode([[ids_by_piece[piece] for piece in pieces]])
    return translator.normalisers["en"].undo(text, {})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return random_run(tmp_path_factory.mktemp("ctranslate2"), "plain")


class Exported:
    """A run, and its export to CTranslate2, with German sentences and their pieces."""

    def __init__(self, run: Run, folder: Path) -> None:
        export_ctranslate2(run, DE_EN, folder)
        self.translator = Translator.load(run)
        self.other = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
        self.sentences = sample_sentences("de", seed=7, lines=40)
        normaliser = self.translator.normalisers["de"]
        texts = [normaliser.apply(sentence) for sentence in self.sentences]
        source = self.translator.vocabularies["de"]
        self.pieces = [source.pieces(ids) for ids in source.encode(texts)]

    def translate(self, beam: int) -> tuple[list[str], list[str], list[list[str]]]:
        """Return our translations, those of the other program, and the pieces of these."""
        limit = {"max_length_ratio": 0.0, "max_length_extra": 30}
        ours = self.translator.translate(
            self.sentences, source="de", target="en", beam=beam, **limit
        )
        results = self.other.translate_batch(
            self.pieces,
            beam_size=beam,
            min_decoding_length=0,  # its default of 1 excludes empty translations
            max_decoding_length=30,
        )
        pieces = [result.hypotheses[0] for result in results]
        theirs = [join_pieces(self.translator, hypothesis) for hypothesis in pieces]
        return ours, theirs, pieces

    def check_scores(self, texts: list[str], pieces: list[list[str]]) -> None:
        scores = self.translator.score(self.sentences, texts, source="de", target="en")
        exported_scores = self.other.score_batch(self.pieces, pieces)
        for score, exported_score in zip(scores, exported_scores, strict=True):
            assert sum(exported_score.log_probs) == pytest.approx(score, abs=1e-3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("sharing", [{}, {"decoder": {"all": ["en", "de"]}}])
def test_every_model_has_the_same_probabilities(name, sharing, tmp_path):
    exported = Exported(random_run(tmp_path, name, sharing=sharing), tmp_path / "exported")
    for beam in (1, 4):
        ours, theirs, pieces = exported.translate(beam)
        assert len(set(theirs)) >= 5, "sentences have different translations"
        assert beam > 1 or ours == theirs
        exported.check_scores(theirs, pieces)


@pytest.mark.parametrize("name", TRAINED_MODELS)
def test_trained_models_translate_in_the_same_way(name, tmp_path):
    """Search depends on the probabilities only; so the other models have the mark slow."""
    run = untrained_run(tmp_path, name)
    train(run)
    exported = Exported(run, tmp_path / "exported")
    for beam in (1, 4):
        ours, theirs, pieces = exported.translate(beam)
        equal = sum(map(str.__eq__, ours, theirs))
        # The two searches end a sentence by other rules, which matters after so little training.
        assert equal >= (40 if beam == 1 else 36)
    exported.check_scores(theirs, pieces)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"encoder": {"type": "lstm", "size": 32}}, "an encoder that is no Transformer"),
        ({"decoder": {"type": "lstm", "size": 32}}, "a decoder that is no Transformer"),
        ({"bridge": {"type": "attention", "heads": 2}}, "the bridge 'attention', only"),
        ({"bridge": {"type": "transformer", "heads": 4}}, "does not continue the encoder"),
        ({"encoder": {**LAYERS, "positions": "rotary"}}, "rotary positions (encoder)"),
    ],
)
def test_models_that_it_cannot_compute_are_refused(model, message, tmp_path):
    run = tiny_run(
        tmp_path,
        schedule={"pairs": ["de-en"], "type": "uniform"},
        training={"steps": 1},
        model={"embedding": {"size": 32}, "encoder": LAYERS, "decoder": LAYERS, "bridge": "none"}
        | model,
    )
    train(run)
    folder = tmp_path / "exported"
    with pytest.raises(ConfigError) as error:
        export_ctranslate2(run, DE_EN, folder)
    assert message in str(error.value)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ({}, "none"),
        ({"steps": ["lowercase"]}, "lowercase"),
        (
            {"steps": ["lowercase"], "languages": {"de": ["punctuation", "moses"]}},
            "punctuation, moses",
        ),
    ],
)
def test_the_readme_has_the_text_steps_of_the_source(text, steps, tmp_path):
    readme = _readme(tiny_run(tmp_path, text=text), DE_EN)
    assert "# de-en for CTranslate2" in readme
    assert f"Text steps before the pieces (`text.steps` of the run): {steps}.\n" in readme


def test_an_existing_folder_is_not_touched(run, tmp_path):
    (tmp_path / "precious").write_text("text")
    with pytest.raises(ConfigError, match="exists; choose another folder"):
        export_ctranslate2(run, DE_EN, tmp_path)
    assert os.listdir(tmp_path) == ["precious"]


def test_a_folder_that_cannot_be_written_is_an_error(run, tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(CheckpointError, match="cannot be written: Not a directory"):
        export_ctranslate2(run, DE_EN, tmp_path / "file" / "exported")


def test_without_the_program_the_message_names_the_extra(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ConfigError, match=r"pip install 'polyglot-nmt\[ctranslate2\]'"):
        export_ctranslate2(run, DE_EN, tmp_path / "exported")
