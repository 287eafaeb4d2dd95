"""Conversion of OpenNMT-py 3 checkpoints to runs that give the same translations."""

from __future__ import annotations

import argparse
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from polyglot.config.loading import check_config
from polyglot.config.schema import Config
from polyglot.core.errors import CheckpointError
from polyglot.interop.opennmt_models import (
    LIBRARY_TABLE,
    TABLE,
    RecurrentModel,
    TransformerModel,
)
from polyglot.model.translation_model import TranslationModel
from polyglot.runs import checkpoint_writing
from polyglot.runs.parameters import check_compatible
from polyglot.runs.run import Run
from polyglot.runs.vocabulary_files import write_checksums
from polyglot.text.word_list import WordList

SPECIAL_WORDS = ["<blank>", "<s>", "</s>", "<unk>"]
"""OpenNMT-py's names of our special tokens, in our order."""
SEARCH = {"like": "opennmt", "max_length_ratio": 0.0, "max_length_extra": 250}

DAMAGE = (
    UnpicklingError,
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    EOFError,
    ArithmeticError,
    AssertionError,
    ImportError,
    struct.error,
)
"""Errors of PyTorch for a file that is not a checkpoint, or a damaged one."""


def convert(path: Path, place: Path, *, source: str, target: str) -> Run:
    """Make a bilingual run from a checkpoint.

    The run reads and writes the same text as `onmt_translate`: pieces with spaces between them.
    Only tensors, numbers, texts and an argparse namespace are read from the file; it cannot run
    code. Raises CheckpointError for a file or a model of another kind.
    """
    content = _read(path)
    options = vars(content["opt"])
    model_kind = _model_kind(path, options)
    source_vocabulary = content["vocab"]["src"]
    target_vocabulary = content["vocab"]["tgt"]
    source_words = _words(source_vocabulary)
    target_words = _words(target_vocabulary)
    source_rows = _vocabulary_rows(source_vocabulary, source_words)
    target_rows = _vocabulary_rows(target_vocabulary, target_words)

    weights = content["model"]
    table = weights[LIBRARY_TABLE.format("encoder")]
    encoder = {TABLE: table[source_rows]}
    encoder.update(model_kind.body("encoder", weights))
    decoder = dict(_target_words(weights, content["generator"], target_rows))
    decoder.update(model_kind.body("decoder", weights))
    components = {f"encoder.{source}": encoder, f"decoder.{target}": decoder}

    run = Run.create(_config(model_kind, options, place, source=source, target=target))
    with run.lock(), run.remove_on_error():
        WordList(source_words).save(run.vocabulary_file(source))
        WordList(target_words).save(run.vocabulary_file(target))
        write_checksums(run.vocabulary_folder)
        _check_components(run, components, path)
        checkpoint_writing.write(
            run.checkpoints,
            step=int(options.get("train_steps") or 0),
            components=components,
            training={},
            state={"taken_from": {"program": "OpenNMT-py", "file": path.name}},
            configuration=run.built_from,
            settings=run.settings,
        )
    return run


def _read(path: Path) -> Mapping[str, Any]:
    """Read a checkpoint. Raises CheckpointError if the file is not one."""
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = torch.load(path, weights_only=True, map_location="cpu")
        is_complete = {"model", "generator", "vocab", "opt"} <= content.keys()
        if not is_complete or not isinstance(content["opt"], argparse.Namespace):
            raise ValueError("the model, its vocabularies or its options are missing")
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    except DAMAGE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise CheckpointError(f"{path}: no checkpoint of OpenNMT-py 3: {reason}") from None
    return content


def _model_kind(
    path: Path,
    options: Mapping[str, Any],
) -> type[RecurrentModel] | type[TransformerModel]:
    """Return the kind of model. Raises CheckpointError if our components compute something else."""
    kind = TransformerModel
    if options.get("decoder_type") == "rnn":
        kind = RecurrentModel
    problems = []
    for key, supported in kind.supported.items():
        if key in options and options[key] not in supported:
            values = " or ".join(map(repr, supported))
            problems.append(f"{key} is {options[key]!r}, expected {values}")
    if problems:
        raise CheckpointError(
            f"{path}: a model of this kind cannot be converted: {'; '.join(problems)}"
        )
    return kind


def _words(vocabulary: Sequence[str]) -> list[str]:
    return [word for word in vocabulary if word not in SPECIAL_WORDS]


def _vocabulary_rows(vocabulary: Sequence[str], words: Sequence[str]) -> list[int]:
    """Return OpenNMT-py's row of each of our words, special tokens first."""
    our_words = [*SPECIAL_WORDS, *words]
    return [vocabulary.index(word) for word in our_words]


def _target_words(
    weights: Mapping[str, Tensor],
    generator: Mapping[str, Tensor],
    rows: list[int],
) -> Iterator[tuple[str, Tensor]]:
    """Yield the target embeddings and the output layer, whose weight may be the embeddings."""
    table = weights[LIBRARY_TABLE.format("decoder")]
    output = generator["weight"]
    yield TABLE, table[rows]
    if not torch.equal(table, output):
        yield "output.weight", output[rows]
    yield "output.bias", generator["bias"][rows]


def _config(
    model_kind: type[RecurrentModel] | type[TransformerModel],
    options: Mapping[str, Any],
    place: Path,
    *,
    source: str,
    target: str,
) -> Config:
    """Return the configuration of a run with such a model.

    The training text is unknown: the configuration has a placeholder.
    """
    embedding = {
        "size": options["tgt_word_vec_size"],
        "dropout": 0.0,
        "scale": model_kind.scales_embeddings,
        "tie_output": bool(options.get("share_decoder_embeddings")),
    }
    label_smoothing = float(options.get("label_smoothing") or 0.0)
    steps = int(options.get("train_steps") or 1)
    values = {
        "languages": [source, target],
        "run": str(place),
        "data": {"train": [{"type": "text", "path": "train.{language}"}]},
        "vocabulary": {"type": "word", "size": 100_000},
        "schedule": {"type": "uniform", "pairs": [f"{source}-{target}"]},
        "model": {
            "embedding": embedding,
            "encoder": model_kind.settings(options, "enc"),
            "bridge": "none",
            "decoder": model_kind.settings(options, "dec"),
        },
        "losses": {"translation": {"label_smoothing": label_smoothing}},
        "training": {"steps": max(1, steps)},
        "search": SEARCH,
    }
    return check_config(values, where=str(place))


def _check_components(run: Run, components: Mapping[str, Mapping[str, Tensor]], path: Path) -> None:
    """Raise CheckpointError if the tensors do not fit to the model of the run."""
    sizes = {language: len(vocabulary) for language, vocabulary in run.vocabularies.items()}
    model = TranslationModel(
        run.config.model,
        vocabulary_sizes=sizes,
        pairs=run.config.pairs,
        seed=None,
    )
    for name, parameters in model.component_parameters().items():
        check_compatible(components[name], parameters, where=f"{path}: {name}")
