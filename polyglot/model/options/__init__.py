"""Options by name: what can be put on an encoder or a decoder. A new one is one file and one line here."""

from polyglot.model.options.base import OPTIONS, EmbeddingOption, Option, StatesOption, build_options, placed, reaching
from polyglot.model.options.context_gate import ContextGate
from polyglot.model.options.latent_graph import LatentGraph
from polyglot.model.options.roles import Roles

__all__ = ["OPTIONS", "ContextGate", "EmbeddingOption", "LatentGraph", "Option", "Roles", "StatesOption", "build_options", "placed", "reaching"]
