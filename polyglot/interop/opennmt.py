"""A checkpoint of OpenNMT-py 3 to a run directory that translates as it did there."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from polyglot.config.loading import check_config
from polyglot.config.schema import Config
from polyglot.core.errors import CheckpointError
from polyglot.model.translation_model import TranslationModel
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.parameters import check_compatible
from polyglot.runs.run import Run
from polyglot.text.word_list import WordList

SPECIALS = ["<blank>", "<s>", "</s>", "<unk>"]
"""Their names for ours, in our order."""
TABLE, THEIR_TABLE = "embedding.table.weight", "{}.embeddings.make_embedding.emb_luts.0.weight"
SEARCH = {"like": "opennmt", "max_length_ratio": 0.0, "max_length_extra": 250}


def convert(path: Path, place: Path, *, source: str, target: str) -> Run:
    """A new bilingual run with the model of a checkpoint; it reads and writes what `onmt_translate` does, pieces between spaces.

    Only tensors, numbers, texts and an argparse namespace are read from the file: it can run no code. Raises CheckpointError for
    another file, or a model of another kind.
    """
    found = _read(path)
    options, weights, generator = vars(found["opt"]), found["model"], found["generator"]
    kind = Recurrent if options.get("decoder_type") == "rnn" else Transformer
    wrong = [
        f"{key} is {options[key]!r}, needed is {' or '.join(map(repr, wanted))}"
        for key, wanted in kind.needed.items()
        if key in options and options[key] not in wanted
    ]
    if wrong:
        raise CheckpointError(
            f"{path}: a model of this kind cannot be taken over: {'; '.join(wrong)}"
        )
    words = {
        side: [word for word in found["vocab"][side] if word not in SPECIALS]
        for side in ("src", "tgt")
    }
    rows = {
        side: [found["vocab"][side].index(word) for word in [*SPECIALS, *words[side]]]
        for side in ("src", "tgt")
    }
    config = _config(kind, options, place, source=source, target=target)
    run = Run.create(config)
    with run.remove_on_error():
        vocabularies = {source: WordList(words["src"]), target: WordList(words["tgt"])}
        for language, vocabulary in vocabularies.items():
            vocabulary.save(run.vocabulary_file(language))
        sizes = {language: len(vocabulary) for language, vocabulary in vocabularies.items()}
        model = TranslationModel(
            config.model, vocabulary_sizes=sizes, pairs=config.pairs, seed=None
        )
        tensors = {
            f"encoder.{source}": {
                TABLE: weights[THEIR_TABLE.format("encoder")][rows["src"]],
                **dict(kind.body("encoder", weights)),
            },
            f"decoder.{target}": {
                **dict(_words(weights, generator, rows["tgt"])),
                **dict(kind.body("decoder", weights)),
            },
        }
        for name, parameters in model.component_parameters().items():
            check_compatible(tensors[name], parameters, where=f"{path}: {name}")
        state = {"taken_from": {"program": "OpenNMT-py", "file": path.name}}
        step = int(options.get("train_steps") or 0)
        checkpoints.write(
            run.checkpoints,
            step=step,
            components=tensors,
            training={},
            state=state,
            configuration=run.built_from,
        )
    return run


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            found = torch.load(path, weights_only=True, map_location="cpu")
        if not {"model", "generator", "vocab", "opt"} <= found.keys() or not isinstance(
            found["opt"], argparse.Namespace
        ):
            raise ValueError("it lacks the model, its vocabularies or its options")
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnpicklingError, RuntimeError, ValueError, AttributeError, EOFError) as error:
        raise CheckpointError(
            f"{path}: no checkpoint of OpenNMT-py 3: {str(error).splitlines()[0]}"
        ) from None
    return found


def _config(
    kind: type[Transformer | Recurrent],
    options: Mapping[str, Any],
    place: Path,
    *,
    source: str,
    target: str,
) -> Config:
    """The configuration of a run that is such a model; its text is wherever it was."""
    tied = {"tie_output": bool(options.get("share_decoder_embeddings"))}
    values = {
        "languages": [source, target],
        "run": str(place),
        "data": {"train": [{"type": "text", "path": "train.{language}"}]},
        "vocabulary": {"type": "word", "size": 100_000},
        "schedule": {"type": "uniform", "pairs": [f"{source}-{target}"]},
        "model": {
            "embedding": {
                "size": options["tgt_word_vec_size"],
                "dropout": 0.0,
                "scale": kind.scale,
                **tied,
            },
            "encoder": kind.settings(options, "enc"),
            "bridge": "none",
            "decoder": kind.settings(options, "dec"),
        },
        "losses": {
            "translation": {"label_smoothing": float(options.get("label_smoothing") or 0.0)}
        },
        "training": {"steps": max(1, int(options.get("train_steps") or 1))},
        "search": SEARCH,
    }
    return check_config(values, where=str(place))


def _words(
    weights: Mapping[str, Tensor], generator: Mapping[str, Tensor], rows: list[int]
) -> Iterator[tuple[str, Tensor]]:
    table, output = weights[THEIR_TABLE.format("decoder")], generator["weight"]
    yield TABLE, table[rows]
    if not torch.equal(table, output):  # else they are one
        yield "output.weight", output[rows]
    yield "output.bias", generator["bias"][rows]


def _first(value: Any) -> float:
    return float(value[0] if isinstance(value, list) else value)


class Recurrent:
    """Recurrence with attention, which stays OpenNMT-py's own: its types `onmt_rnn`."""

    needed = {
        "encoder_type": ["rnn", "brnn"],
        "decoder_type": ["rnn"],
        "rnn_type": ["LSTM", "GRU"],
        "global_attention": ["dot", "general", "mlp"],
        "model_task": ["seq2seq"],
        "position_encoding": [False],
        "bridge": [False],
        "coverage_attn": [False],
        "copy_attn": [False],
        "context_gate": [None],
        "global_attention_function": ["softmax"],
        "generator_function": ["softmax"],
    }
    """What a model must be for the types to compute the same."""
    scale = False

    @staticmethod
    def settings(options: Mapping[str, Any], side: str) -> dict[str, Any]:
        shared = {
            "type": "onmt_rnn",
            "cell": options["rnn_type"],
            "size": options[f"{side}_hid_size"],
            "layers": options[f"{side}_layers"],
            "dropout": _first(options["dropout"]),
        }
        if side == "enc":
            return shared | {"bidirectional": options["encoder_type"] == "brnn"}
        return shared | {
            "attention": options["global_attention"],
            "input_feeding": bool(options["input_feed"]),
            "start": "final",
        }

    @staticmethod
    def body(side: str, weights: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        for name, value in weights.items():
            part, _, rest = name.partition(".")
            if part == side and not rest.startswith("embeddings."):
                yield f"body.theirs.{rest}", value


class Transformer:
    """The Transformer, which becomes ours."""

    needed = {
        "encoder_type": ["transformer"],
        "decoder_type": ["transformer"],
        "position_encoding": [True],
        "position_encoding_type": ["SinusoidalInterleaved"],
        "self_attn_type": ["scaled-dot"],
        "max_relative_positions": [0],
        "copy_attn": [False],
        "add_qkvbias": [False],
        "generator_function": ["softmax"],
        "model_task": ["seq2seq"],
    }
    """What a model must be for ours to compute the same."""
    scale = True
    stacks = {"encoder": "encoder.transformer", "decoder": "decoder.transformer_layers"}
    attention = {"encoder": {"attention": ("self_attn", "layer_norm")}}
    attention["decoder"] = {
        "attention": ("self_attn", "layer_norm_1"),
        "cross": ("context_attn", "layer_norm_2"),
    }
    """Our names of the blocks of a layer, and theirs of the block and of its norm."""
    products = {
        "attention": {"inputs": ("query", "keys", "values")},
        "cross": {"queries": ("query",), "memory": ("keys", "values")},
    }
    """Which of their matrices are one of ours; none has a bias there."""

    @staticmethod
    def settings(options: Mapping[str, Any], side: str) -> dict[str, Any]:
        return {
            "type": "transformer",
            "size": options[f"{side}_hid_size"],
            "layers": options[f"{side}_layers"],
            "heads": options["heads"],
            "feed_forward": options["transformer_ff"],
            "activation": options["pos_ffn_activation_fn"],
            "dropout": _first(options["dropout"]),
            "attention_dropout": _first(options["attention_dropout"]),
            "activation_dropout": _first(options["dropout"]),
        }

    @classmethod
    def body(cls, side: str, weights: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        yield from _norm("body.norm", weights, f"{side}.layer_norm")
        for number in range(_layers(weights, cls.stacks[side])):
            ours, theirs = f"body.layers.{number}", f"{cls.stacks[side]}.{number}"
            for block, (attention, norm) in cls.attention[side].items():
                for name, parts in cls.products[block].items():
                    matrices = [
                        weights[f"{theirs}.{attention}.linear_{part}.weight"] for part in parts
                    ]
                    yield from _linear(f"{ours}.{block}.{name}", torch.cat(matrices))
                yield from _linear(
                    f"{ours}.{block}.output", weights[f"{theirs}.{attention}.final_linear.weight"]
                )
                yield from _norm(f"{ours}.around_{block}.norm", weights, f"{theirs}.{norm}")
            for name, other in (("hidden", "w_1"), ("output", "w_2")):
                weight, bias = (
                    weights[f"{theirs}.feed_forward.{other}.{key}"] for key in ("weight", "bias")
                )
                yield from _linear(f"{ours}.feed_forward.{name}", weight, bias)
            yield from _norm(
                f"{ours}.around_feed_forward.norm", weights, f"{theirs}.feed_forward.layer_norm"
            )


def _layers(weights: Mapping[str, Tensor], prefix: str) -> int:
    return 1 + max(
        int(key.removeprefix(f"{prefix}.").partition(".")[0])
        for key in weights
        if key.startswith(f"{prefix}.")
    )


def _linear(name: str, weight: Tensor, bias: Tensor | None = None) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}.weight", weight
    yield f"{name}.bias", weight.new_zeros(len(weight)) if bias is None else bias


def _norm(ours: str, weights: Mapping[str, Tensor], theirs: str) -> Iterator[tuple[str, Tensor]]:
    for key in ("weight", "bias"):
        yield f"{ours}.{key}", weights[f"{theirs}.{key}"]
