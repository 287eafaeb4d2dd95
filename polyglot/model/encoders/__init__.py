"""Encoders by name. A new one is one file and one line here."""

from polyglot.model.encoders.base import ENCODERS, Encoder
from polyglot.model.encoders.recurrent import GruEncoder, LstmEncoder

__all__ = ["ENCODERS", "Encoder", "GruEncoder", "LstmEncoder"]
