"""Options by name: what can be put on an encoder or a decoder. A new one is one file and one line here."""

from polyglot.model.options.base import (
    OPTIONS,
    DecoderOption,
    EmbeddingOption,
    Option,
    StatesOption,
    build_options,
    is_decoder_option_tensor,
    options_at,
    apply_preceding,
)
from polyglot.model.options.context_gate import ContextGate
from polyglot.model.options.latent_graph import LatentGraph
from polyglot.model.options.roles import Roles
from polyglot.model.options.word_prediction import WordPrediction

__all__ = [
    "OPTIONS",
    "ContextGate",
    "DecoderOption",
    "EmbeddingOption",
    "LatentGraph",
    "Option",
    "Roles",
    "StatesOption",
    "WordPrediction",
    "build_options",
    "is_decoder_option_tensor",
    "options_at",
    "apply_preceding",
]
