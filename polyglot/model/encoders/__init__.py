"""Encoders by name. A new one is one file and one line here."""

from polyglot.model.encoders.base import ENCODERS, Encoder
from polyglot.model.encoders.cnn import CnnEncoder
from polyglot.model.encoders.embedding import EmbeddingEncoder
from polyglot.model.encoders.opennmt import OpenNmtRnnEncoder, OpenNmtTransformerEncoder
from polyglot.model.encoders.recurrent import GruEncoder, LstmEncoder
from polyglot.model.encoders.transformer import TransformerEncoder

__all__ = [
    "ENCODERS",
    "CnnEncoder",
    "EmbeddingEncoder",
    "Encoder",
    "GruEncoder",
    "LstmEncoder",
    "OpenNmtRnnEncoder",
    "OpenNmtTransformerEncoder",
    "TransformerEncoder",
]
