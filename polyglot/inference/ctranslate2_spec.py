"""Model of one direction as CTranslate2 describes it, with the same parameters.

CTranslate2 (https://github.com/OpenNMT/CTranslate2) knows Transformers whose decoder attends to all
states of the encoder. So the encoder and the decoder must be Transformers, without options. The
bridge is `none`, or `transformer` where its layers only continue those of the encoder: with layer
norms after each sum (`norm: post`), no other layer norm stands between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from polyglot.core.errors import ConfigError
from polyglot.layers.positions import Positions
from polyglot.layers.transformer import EPSILON, CrossAttentionLayer, SelfAttentionLayer
from polyglot.model.bridges.none import NoBridge
from polyglot.model.bridges.transformer import TransformerBridge
from polyglot.model.decoders.transformer import TransformerDecoder
from polyglot.model.embedding import Embedding
from polyglot.model.encoders.transformer import TransformerEncoder
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import BOS, EOS, UNK
from polyglot.tasks.pairs import LanguagePair

POSITIONS = 1024
"""Rows of the table of sinusoidal positions: longest sentence of an exported model."""
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swiglu": "SWISH"}
"""CTranslate2's names of our activations."""


def import_ctranslate2() -> Any:
    """Return the module `ctranslate2`. Raises ConfigError if it is not installed."""
    try:
        import ctranslate2
    except ImportError:
        raise ConfigError(
            "ctranslate2 is not installed; pip install 'polyglot-nmt[ctranslate2]'"
        ) from None
    return ctranslate2


def build_spec(
    model: TranslationModel,
    pair: LanguagePair,
    *,
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
) -> Any:
    """Return CTranslate2's description of a direction, with all numbers.

    source_pieces, target_pieces: pieces of the vocabularies by their ids. Raises ConfigError if
    CTranslate2 is not installed or cannot compute the model.
    """
    specs = import_ctranslate2().specs
    problems = list(unsupported_parts(model, pair))
    if problems:
        raise ConfigError(f"{pair}: CTranslate2 cannot compute {'; '.join(problems)}")
    spec = _empty_spec(specs, model, pair)
    _fill_encoder(spec.encoder, model, pair.source)
    _fill_decoder(spec.decoder, model, pair)

    spec.register_source_vocabulary(list(source_pieces))
    spec.register_target_vocabulary(list(target_pieces))
    config = spec.config
    config.bos_token = target_pieces[BOS]
    config.eos_token = target_pieces[EOS]
    config.unk_token = target_pieces[UNK]
    config.decoder_start_token = target_pieces[BOS]
    config.layer_norm_epsilon = EPSILON
    spec.validate()
    return spec


def unsupported_parts(model: TranslationModel, pair: LanguagePair) -> Iterator[str]:
    """Yield the parts of a direction that CTranslate2 cannot compute."""
    encoder = model.encoders[pair.source]
    decoder = model.decoders[pair.target]
    if not isinstance(encoder.body, TransformerEncoder):
        yield "an encoder that is no Transformer"
        return
    if not isinstance(decoder.body, TransformerDecoder):
        yield "a decoder that is no Transformer"
        return
    if len(encoder.options) or len(decoder.options):
        yield "options of encoder or decoder"
    for side, body in (("encoder", encoder.body), ("decoder", decoder.body)):
        if body.positions.kind == "rotary":
            yield f"rotary positions ({side})"
    yield from _unsupported_bridge(model, encoder.body, encoder.projection)


def _unsupported_bridge(
    model: TranslationModel,
    encoder: TransformerEncoder,
    projection: nn.Module,
) -> Iterator[str]:
    bridge = model.bridge
    if isinstance(bridge, NoBridge):
        return
    if not isinstance(bridge, TransformerBridge):
        yield f"the bridge {model.config.bridge.type!r}, only 'none' and 'transformer'"
        return
    settings = [_layer_settings(layer) for layer in (*encoder.layers, *bridge.layers)]
    is_same_kind = all(setting == settings[0] for setting in settings)
    is_prenorm = encoder.layers[0].around_attention.is_pre_norm
    if is_prenorm or not is_same_kind or not isinstance(projection, nn.Identity):
        yield (
            "a Transformer bridge that does not continue the encoder: both need `norm: post`, "
            "and the same size, heads and activation"
        )


def _layer_settings(layer: SelfAttentionLayer) -> tuple[Any, ...]:
    attention = layer.attention
    size = attention.output.out_features
    activation = layer.feed_forward.activation
    is_prenorm = layer.around_attention.is_pre_norm
    return attention.heads, size, activation, is_prenorm


def _empty_spec(
    specs: Any,
    model: TranslationModel,
    pair: LanguagePair,
) -> Any:
    """Return CTranslate2's description of the model, without numbers."""
    encoder = model.encoders[pair.source].body
    decoder = model.decoders[pair.target].body
    encoder_layers = _encoder_layers(model, pair.source)
    encoder_settings = _spec_settings(specs, encoder_layers[0])
    decoder_settings = _spec_settings(specs, decoder.layers[0])
    encoder_spec = specs.transformer_spec.TransformerEncoderSpec(
        len(encoder_layers),
        encoder.layers[0].attention.heads,
        **encoder_settings,
    )
    decoder_spec = specs.transformer_spec.TransformerDecoderSpec(
        len(decoder.layers),
        decoder.layers[0].attention.heads,
        **decoder_settings,
    )
    return specs.TransformerSpec(encoder_spec, decoder_spec)


def _spec_settings(specs: Any, layer: SelfAttentionLayer | CrossAttentionLayer) -> dict[str, Any]:
    activation = ACTIVATIONS[layer.feed_forward.activation]
    return {
        "pre_norm": layer.around_attention.is_pre_norm,
        "activation": getattr(specs.common_spec.Activation, activation),
        "ffn_glu": layer.feed_forward.gated,
    }


def _encoder_layers(model: TranslationModel, language: str) -> list[SelfAttentionLayer]:
    """Layers of the encoder, and of the bridge that continues it."""
    layers = list(model.encoders[language].body.layers)
    if isinstance(model.bridge, TransformerBridge):
        layers += model.bridge.layers
    return layers


def _fill_encoder(
    spec: Any,
    model: TranslationModel,
    language: str,
) -> None:
    encoder = model.encoders[language]
    spec.scale_embeddings = False
    spec.embeddings[0].weight = _embedding_weights(encoder.embedding, encoder.body.inputs)
    spec.position_encodings.encodings = _position_table(encoder.body.positions)
    if isinstance(encoder.body.norm, nn.LayerNorm):
        _fill_norm(spec.layer_norm, encoder.body.norm)
    for layer_spec, layer in zip(spec.layer, _encoder_layers(model, language)):
        _fill_self_attention(layer_spec.self_attention, layer)
        _fill_feed_forward(layer_spec.ffn, layer)


def _fill_decoder(
    spec: Any,
    model: TranslationModel,
    pair: LanguagePair,
) -> None:
    decoder = model.decoders[pair.target]
    projection = model.encoders[pair.source].projection
    spec.scale_embeddings = False
    spec.embeddings.weight = _embedding_weights(decoder.embedding, decoder.body.inputs)
    spec.position_encodings.encodings = _position_table(decoder.body.positions)
    if isinstance(decoder.body.norm, nn.LayerNorm):
        _fill_norm(spec.layer_norm, decoder.body.norm)
    spec.projection.weight = _numbers(decoder.output.weight)
    spec.projection.bias = _numbers(decoder.output.bias)
    for layer_spec, layer in zip(spec.layer, decoder.body.layers):
        _fill_self_attention(layer_spec.self_attention, layer)
        _fill_cross_attention(layer_spec.attention, layer, projection)
        _fill_feed_forward(layer_spec.ffn, layer)


def _fill_self_attention(
    spec: Any,
    layer: SelfAttentionLayer | CrossAttentionLayer,
) -> None:
    _fill_norm(spec.layer_norm, layer.around_attention.norm)
    _fill_layer(spec.linear[0], layer.attention.inputs)
    _fill_layer(spec.linear[1], layer.attention.output)


def _fill_cross_attention(
    spec: Any,
    layer: CrossAttentionLayer,
    projection: nn.Module,
) -> None:
    """projection: of the encoder's states; it becomes a part of keys and values."""
    cross = layer.cross
    weight = cross.memory.weight
    bias = cross.memory.bias
    if isinstance(projection, nn.Linear):
        bias = bias + weight @ projection.bias
        weight = weight @ projection.weight
    _fill_norm(spec.layer_norm, layer.around_cross.norm)
    _fill_layer(spec.linear[0], cross.queries)
    _fill_linear(spec.linear[1], weight, bias)
    _fill_layer(spec.linear[2], cross.output)


def _fill_feed_forward(
    spec: Any,
    layer: SelfAttentionLayer | CrossAttentionLayer,
) -> None:
    _fill_norm(spec.layer_norm, layer.around_feed_forward.norm)
    network = layer.feed_forward
    if network.gated:
        gate_weight, weight = network.hidden.weight.chunk(2)
        gate_bias, bias = network.hidden.bias.chunk(2)
        _fill_linear(spec.linear_0, gate_weight, gate_bias)
        _fill_linear(spec.linear_0_noact, weight, bias)
    else:
        _fill_layer(spec.linear_0, network.hidden)
    _fill_layer(spec.linear_1, network.output)


def _fill_layer(spec: Any, layer: nn.Linear) -> None:
    _fill_linear(spec, layer.weight, layer.bias)


def _fill_linear(
    spec: Any,
    weight: Tensor,
    bias: Tensor,
) -> None:
    spec.weight = _numbers(weight)
    spec.bias = _numbers(bias)


def _fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma = _numbers(norm.weight)
    spec.beta = _numbers(norm.bias)


def _embedding_weights(embedding: Embedding, inputs: nn.Module) -> Any:
    """Table (V, D) of embeddings with their scale, language token and projection."""
    rows = torch.arange(embedding.table.num_embeddings, device=embedding.table.weight.device)
    return _numbers(inputs(embedding(rows)))


def _position_table(positions: Positions) -> Any:
    """Position encodings (P, D); the model is exported without text longer than P."""
    device = torch.device("cpu")
    if positions.kind == "learned":
        device = positions.embedding.device
    zeros = torch.zeros(1, POSITIONS, positions.size, device=device)
    return _numbers(positions(zeros).squeeze(0))


def _numbers(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()
