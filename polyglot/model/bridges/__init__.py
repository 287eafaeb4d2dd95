"""Bridges by name. A new one is one file and one line here."""

from polyglot.model.bridges.attention import AttentionBridge
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.bridges.none import NoBridge

__all__ = ["BRIDGES", "AttentionBridge", "Bridge", "NoBridge"]
