"""Export of a direction to CTranslate2, which translates in the same way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.inference.translator import Translator
from polyglot.interop.ctranslate2 import _readme, export_ctranslate2
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from tests.builders.runs import sample_sentences, tiny_run, train

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


def trained_run(folder: Path, name: str = "plain", **sections: object) -> Run:
    model = {"embedding": {"size": 32}, "encoder": LAYERS, "decoder": LAYERS, **MODELS[name]}
    run = tiny_run(
        folder,
        schedule={"pairs": ["de-en", "en-de"], "tasks_per_update": 2, "type": "round_robin"},
        training={"steps": 60, "log_every": 30},
        optimizer={"learning_rate": 0.01},
        model=model,
        **sections,
    )
    train(run)
    return run


def join_pieces(translator: Translator, pieces: list[str]) -> str:
    """Return the text of pieces of English."""
    vocabulary = translator.vocabularies["en"]
    ids_by_piece = {piece: id for id, piece in enumerate(vocabulary.pieces(range(len(vocabulary))))}
    [text] = vocabulary.decode([[ids_by_piece[piece] for piece in pieces]])
    return translator.normalisers["en"].undo(text, {})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return trained_run(tmp_path_factory.mktemp("ctranslate2"))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("sharing", [{}, {"decoder": {"all": ["en", "de"]}}])
def test_translations_are_the_same(name, sharing, tmp_path):
    run = trained_run(tmp_path, name, sharing=sharing)
    folder = tmp_path / "exported"
    export_ctranslate2(run, DE_EN, folder)
    translator = Translator.load(run)
    sentences = sample_sentences("de", seed=7, lines=40)
    texts = [translator.normalisers["de"].apply(sentence) for sentence in sentences]
    source = translator.vocabularies["de"]
    pieces = [source.pieces(ids) for ids in source.encode(texts)]
    exported = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)

    limit = {"max_length_ratio": 0.0, "max_length_extra": 30}
    for beam in (1, 4):
        translations = translator.translate(sentences, source="de", target="en", beam=beam, **limit)
        results = exported.translate_batch(
            pieces,
            beam_size=beam,
            min_decoding_length=0,  # its default of 1 excludes empty translations
            max_decoding_length=30,
        )
        texts = [join_pieces(translator, result.hypotheses[0]) for result in results]
        equal = sum(map(str.__eq__, translations, texts))
        # The two searches end a sentence by other rules, which matters after so little training.
        assert equal >= (40 if beam == 1 else 36)

    targets = [result.hypotheses[0] for result in results]
    scores = translator.score(sentences, texts, source="de", target="en")
    exported_scores = exported.score_batch(pieces, targets)
    for score, exported_score in zip(scores, exported_scores):
        assert sum(exported_score.log_probs) == pytest.approx(score, abs=1e-3)


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
