"""A checkpoint of OpenNMT-py 3 to a run directory that translates as it did there."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from polyglot import checkpoint as checkpoints
from polyglot.config import Config, check_config
from polyglot.errors import CheckpointError
from polyglot.model.model import TranslationModel
from polyglot.run import Run
from polyglot.text.word_list import WordList

SPECIALS = ["<blank>", "<s>", "</s>", "<unk>"]
"""Their names for ours, in our order."""
NEEDED = {
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "position_encoding": True,
    "position_encoding_type": "SinusoidalInterleaved",
    "self_attn_type": "scaled-dot",
    "max_relative_positions": 0,
    "copy_attn": False,
    "add_qkvbias": False,
    "generator_function": "softmax",
    "model_task": "seq2seq",
}
"""What a model must be for ours to compute the same."""


def convert(path: Path, place: Path, *, source: str, target: str) -> Run:
    """A new bilingual run with the model of a checkpoint; it reads and writes what `onmt_translate` does, pieces between spaces.

    Only tensors, numbers, texts and an argparse namespace are read from the file: it can run no code. Raises CheckpointError for
    another file, or a model of another kind.
    """
    found = _read(path)
    options, weights, generator = vars(found["opt"]), found["model"], found["generator"]
    problems = [f"{key} is {options.get(key)!r}, needed is {wanted!r}" for key, wanted in NEEDED.items() if options.get(key, wanted) != wanted]
    if problems:
        raise CheckpointError(f"{path}: a model of this kind cannot be taken over: {'; '.join(problems)}")
    words = {side: [word for word in found["vocab"][side] if word not in SPECIALS] for side in ("src", "tgt")}
    rows = {side: [found["vocab"][side].index(word) for word in [*SPECIALS, *words[side]]] for side in ("src", "tgt")}
    config = _config(options, place, source=source, target=target)
    run = Run.create(config)
    with run.removed_on_error():
        vocabularies = {source: WordList(words["src"]), target: WordList(words["tgt"])}
        for language, vocabulary in vocabularies.items():
            vocabulary.save(run.vocabulary_file(language))
        sizes = {language: len(vocabulary) for language, vocabulary in vocabularies.items()}
        model = TranslationModel(config.model, vocabulary_sizes=sizes, pairs=config.pairs, seed=None)
        tensors = {f"encoder.{source}": dict(_encoder(weights, rows["src"])), f"decoder.{target}": dict(_decoder(weights, generator, rows["tgt"]))}
        for name, parameters in model.component_parameters().items():
            checkpoints.check_same(tensors[name], parameters, where=f"{path}: {name}")
        state = {"taken_from": {"program": "OpenNMT-py", "file": path.name}}
        step = int(options.get("train_steps") or 0)
        checkpoints.write(run.checkpoints, step=step, components=tensors, training={}, state=state, configuration=run.built_from)
    return run


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            found = torch.load(path, weights_only=True, map_location="cpu")
        if not {"model", "generator", "vocab", "opt"} <= found.keys() or not isinstance(found["opt"], argparse.Namespace):
            raise ValueError("it lacks the model, its vocabularies or its options")
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnpicklingError, RuntimeError, ValueError, AttributeError, EOFError) as error:
        raise CheckpointError(f"{path}: no checkpoint of OpenNMT-py 3: {str(error).splitlines()[0]}") from None
    return found


def _config(options: Mapping[str, Any], place: Path, *, source: str, target: str) -> Config:
    """The configuration of a run that is such a model; its text is wherever it was."""
    tied = {"tie_output": bool(options.get("share_decoder_embeddings"))}
    body = {"type": "transformer", "heads": options["heads"], "feed_forward": options["transformer_ff"], "activation": options["pos_ffn_activation_fn"]}
    shares = {"dropout": _first(options["dropout"]), "attention_dropout": _first(options["attention_dropout"])}
    body |= shares | {"activation_dropout": shares["dropout"]}
    values = {
        "languages": [source, target],
        "run": str(place),
        "data": {"train": [{"type": "text", "path": "train.{language}"}]},
        "vocabulary": {"type": "word", "size": 100_000},
        "schedule": {"type": "uniform", "pairs": [f"{source}-{target}"]},
        "model": {
            "embedding": {"size": options["tgt_word_vec_size"], "dropout": 0.0, **tied},
            "encoder": {**body, "size": options["enc_hid_size"], "layers": options["enc_layers"]},
            "bridge": "none",
            "decoder": {**body, "size": options["dec_hid_size"], "layers": options["dec_layers"]},
        },
        "losses": {"translation": {"label_smoothing": float(options.get("label_smoothing") or 0.0)}},
        "training": {"steps": max(1, int(options.get("train_steps") or 1))},
        "search": {"like": "opennmt", "max_length_ratio": 0.0, "max_length_extra": 250},
    }
    return check_config(values, where=str(place))


def _first(value: Any) -> float:
    return float(value[0] if isinstance(value, list) else value)


def _encoder(weights: Mapping[str, Tensor], rows: list[int]) -> Iterator[tuple[str, Tensor]]:
    """Our names and what stands there."""
    yield "embedding.table.weight", weights["encoder.embeddings.make_embedding.emb_luts.0.weight"][rows]
    yield from _norm("body.norm", weights, "encoder.layer_norm")
    for number in range(_layers(weights, "encoder.transformer")):
        ours, theirs = f"body.layers.{number}", f"encoder.transformer.{number}"
        yield from _self_attention(f"{ours}.attention", weights, f"{theirs}.self_attn")
        yield from _norm(f"{ours}.around_attention.norm", weights, f"{theirs}.layer_norm")
        yield from _feed_forward(ours, weights, theirs)


def _decoder(weights: Mapping[str, Tensor], generator: Mapping[str, Tensor], rows: list[int]) -> Iterator[tuple[str, Tensor]]:
    table, output = weights["decoder.embeddings.make_embedding.emb_luts.0.weight"], generator["weight"]
    yield "embedding.table.weight", table[rows]
    if not torch.equal(table, output):  # else they are one
        yield "output.weight", output[rows]
    yield "output.bias", generator["bias"][rows]
    yield from _norm("body.norm", weights, "decoder.layer_norm")
    for number in range(_layers(weights, "decoder.transformer_layers")):
        ours, theirs = f"body.layers.{number}", f"decoder.transformer_layers.{number}"
        yield from _self_attention(f"{ours}.attention", weights, f"{theirs}.self_attn")
        yield from _norm(f"{ours}.around_attention.norm", weights, f"{theirs}.layer_norm_1")
        yield from _cross_attention(f"{ours}.cross", weights, f"{theirs}.context_attn")
        yield from _norm(f"{ours}.around_cross.norm", weights, f"{theirs}.layer_norm_2")
        yield from _feed_forward(ours, weights, theirs)


def _layers(weights: Mapping[str, Tensor], prefix: str) -> int:
    return 1 + max(int(key.removeprefix(f"{prefix}.").partition(".")[0]) for key in weights if key.startswith(f"{prefix}."))


def _self_attention(ours: str, weights: Mapping[str, Tensor], theirs: str) -> Iterator[tuple[str, Tensor]]:
    """Three matrices there, one here; none of theirs has a bias."""
    yield from _linear(f"{ours}.inputs", torch.cat([weights[f"{theirs}.linear_{name}.weight"] for name in ("query", "keys", "values")]))
    yield from _linear(f"{ours}.output", weights[f"{theirs}.final_linear.weight"])


def _cross_attention(ours: str, weights: Mapping[str, Tensor], theirs: str) -> Iterator[tuple[str, Tensor]]:
    yield from _linear(f"{ours}.queries", weights[f"{theirs}.linear_query.weight"])
    yield from _linear(f"{ours}.memory", torch.cat([weights[f"{theirs}.linear_{name}.weight"] for name in ("keys", "values")]))
    yield from _linear(f"{ours}.output", weights[f"{theirs}.final_linear.weight"])


def _feed_forward(ours: str, weights: Mapping[str, Tensor], theirs: str) -> Iterator[tuple[str, Tensor]]:
    for name, other in (("hidden", "w_1"), ("output", "w_2")):
        yield from _linear(f"{ours}.feed_forward.{name}", weights[f"{theirs}.feed_forward.{other}.weight"], weights[f"{theirs}.feed_forward.{other}.bias"])
    yield from _norm(f"{ours}.around_feed_forward.norm", weights, f"{theirs}.feed_forward.layer_norm")


def _linear(name: str, weight: Tensor, bias: Tensor | None = None) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}.weight", weight
    yield f"{name}.bias", weight.new_zeros(len(weight)) if bias is None else bias


def _norm(ours: str, weights: Mapping[str, Tensor], theirs: str) -> Iterator[tuple[str, Tensor]]:
    for key in ("weight", "bias"):
        yield f"{ours}.{key}", weights[f"{theirs}.{key}"]
