"""Bridges by name. A new one is one file and one line here."""

from polyglot.model.bridges.attention import AttentionBridge
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.bridges.mean import MeanBridge
from polyglot.model.bridges.none import NoBridge
from polyglot.model.bridges.perceiver import PerceiverBridge
from polyglot.model.bridges.transformer import TransformerBridge

from polyglot.model.bridges.stack import StackedBridge  # isort: skip  the last one: it takes any of those that are registered by then

__all__ = [
    "BRIDGES",
    "AttentionBridge",
    "Bridge",
    "MeanBridge",
    "NoBridge",
    "PerceiverBridge",
    "StackedBridge",
    "TransformerBridge",
]
