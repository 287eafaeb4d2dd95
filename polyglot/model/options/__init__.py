"""Options by name. A new option needs one file and one import here."""

from polyglot.model.options.base import (
    OPTIONS,
    DecoderOption,
    EmbeddingOption,
    Option,
    StatesOption,
    apply_preceding,
    build_options,
    is_decoder_option_tensor,
    option_vocabulary_parameters,
    options_at,
)
from polyglot.model.options.context_gate import ContextGate
from polyglot.model.options.latent_graph import LatentGraph
from polyglot.model.options.roles import Roles, StateRoles
from polyglot.model.options.word_prediction import WordPrediction

__all__ = [
    "OPTIONS",
    "ContextGate",
    "DecoderOption",
    "EmbeddingOption",
    "LatentGraph",
    "Option",
    "Roles",
    "StateRoles",
    "StatesOption",
    "WordPrediction",
    "apply_preceding",
    "build_options",
    "is_decoder_option_tensor",
    "option_vocabulary_parameters",
    "options_at",
]
