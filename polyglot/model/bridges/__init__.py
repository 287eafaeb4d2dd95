"""Bridges by name. A new bridge needs one file and one import here."""

from polyglot.model.bridges.attention import AttentionBridge
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.bridges.mean import MeanBridge
from polyglot.model.bridges.none import NoBridge
from polyglot.model.bridges.perceiver import PerceiverBridge
from polyglot.model.bridges.transformer import TransformerBridge

# Last: a stack takes every bridge that is registered before it.
from polyglot.model.bridges.stack import StackedBridge  # isort: skip

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
