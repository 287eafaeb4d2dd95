"""Settings and parameters of OpenNMT-py's models under our names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

TABLE = "embedding.table.weight"
LIBRARY_TABLE = "{}.embeddings.make_embedding.emb_luts.0.weight"
"""OpenNMT-py's name of the embeddings; `{}` is `encoder` or `decoder`."""


class RecurrentModel:
    """Recurrent model with attention; our types `onmt_rnn` use OpenNMT-py's own modules."""

    supported = {
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
    """Values of options with which our types compute the same numbers."""
    scales_embeddings = False

    @staticmethod
    def settings(options: Mapping[str, Any], side: str) -> dict[str, Any]:
        """Return the settings of the encoder or decoder. side: `enc` or `dec`."""
        settings = {
            "type": "onmt_rnn",
            "cell": options["rnn_type"],
            "size": options[f"{side}_hid_size"],
            "layers": options[f"{side}_layers"],
            "dropout": _first_number(options["dropout"]),
        }
        if side == "enc":
            return settings | {"bidirectional": options["encoder_type"] == "brnn"}
        return settings | {
            "attention": options["global_attention"],
            "input_feeding": bool(options["input_feed"]),
            "start": "final",
        }

    @staticmethod
    def body(side: str, weights: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        """Yield the parameters of the layers. side: `encoder` or `decoder`."""
        for name, tensor in weights.items():
            part, _, rest = name.partition(".")
            if part == side and not rest.startswith("embeddings."):
                yield f"body.theirs.{rest}", tensor


class TransformerModel:
    """Transformer; it becomes our own Transformer."""

    supported = {
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
    """Values of options with which our types compute the same numbers."""
    scales_embeddings = True

    layer_names = {"encoder": "encoder.transformer", "decoder": "decoder.transformer_layers"}
    attention_names = {
        "encoder": {"attention": ("self_attn", "layer_norm")},
        "decoder": {
            "attention": ("self_attn", "layer_norm_1"),
            "cross": ("context_attn", "layer_norm_2"),
        },
    }
    """Our name of each attention block -> OpenNMT-py's names of the block and of its norm."""
    merged_matrices = {
        "attention": {"inputs": ("query", "keys", "values")},
        "cross": {"queries": ("query",), "memory": ("keys", "values")},
    }
    """Our name of a matrix -> OpenNMT-py's matrices that it consists of; they have no bias."""

    @staticmethod
    def settings(options: Mapping[str, Any], side: str) -> dict[str, Any]:
        """Return the settings of the encoder or decoder. side: `enc` or `dec`."""
        return {
            "type": "transformer",
            "size": options[f"{side}_hid_size"],
            "layers": options[f"{side}_layers"],
            "heads": options["heads"],
            "feed_forward": options["transformer_ff"],
            "activation": options["pos_ffn_activation_fn"],
            "dropout": _first_number(options["dropout"]),
            "attention_dropout": _first_number(options["attention_dropout"]),
            "activation_dropout": _first_number(options["dropout"]),
        }

    @classmethod
    def body(cls, side: str, weights: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        """Yield the parameters of the layers. side: `encoder` or `decoder`."""
        yield from _norm("body.norm", weights, f"{side}.layer_norm")
        layers = cls.layer_names[side]
        for number in range(_layer_count(weights, layers)):
            yield from cls._layer(
                f"body.layers.{number}",
                weights,
                f"{layers}.{number}",
                attentions=cls.attention_names[side],
            )

    @classmethod
    def _layer(
        cls,
        name: str,
        weights: Mapping[str, Tensor],
        library_name: str,
        *,
        attentions: Mapping[str, tuple[str, str]],
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the parameters of one layer."""
        for block, (attention, norm) in attentions.items():
            library_block = f"{library_name}.{attention}"
            for matrix, parts in cls.merged_matrices[block].items():
                matrices = [weights[f"{library_block}.linear_{part}.weight"] for part in parts]
                yield from _linear(f"{name}.{block}.{matrix}", torch.cat(matrices))
            output = weights[f"{library_block}.final_linear.weight"]
            yield from _linear(f"{name}.{block}.output", output)
            yield from _norm(f"{name}.around_{block}.norm", weights, f"{library_name}.{norm}")

        feed_forward = f"{library_name}.feed_forward"
        for part, library_part in (("hidden", "w_1"), ("output", "w_2")):
            weight = weights[f"{feed_forward}.{library_part}.weight"]
            bias = weights[f"{feed_forward}.{library_part}.bias"]
            yield from _linear(f"{name}.feed_forward.{part}", weight, bias)
        yield from _norm(f"{name}.around_feed_forward.norm", weights, f"{feed_forward}.layer_norm")


def _first_number(value: Any) -> float:
    """Return a number, or the first of a list: OpenNMT-py can change dropout during training."""
    if isinstance(value, list):
        value = value[0]
    return float(value)


def _layer_count(weights: Mapping[str, Tensor], prefix: str) -> int:
    """Return the number of layers whose parameters are `{prefix}.{number}.…`."""
    numbers = set()
    for name in weights:
        if name.startswith(f"{prefix}."):
            rest = name.removeprefix(f"{prefix}.")
            number, _, _ = rest.partition(".")
            numbers.add(int(number))
    return 1 + max(numbers)


def _linear(name: str, weight: Tensor, bias: Tensor | None = None) -> Iterator[tuple[str, Tensor]]:
    if bias is None:
        bias = weight.new_zeros(len(weight))
    yield f"{name}.weight", weight
    yield f"{name}.bias", bias


def _norm(
    name: str,
    weights: Mapping[str, Tensor],
    library_name: str,
) -> Iterator[tuple[str, Tensor]]:
    for part in ("weight", "bias"):
        yield f"{name}.{part}", weights[f"{library_name}.{part}"]
