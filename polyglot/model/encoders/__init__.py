"""Encoders by name. A new encoder needs one file and one import here."""

from polyglot.model.encoders.base import ENCODERS, Encoder, FinalStates
from polyglot.model.encoders.cnn import CnnEncoder
from polyglot.model.encoders.embedding import EmbeddingEncoder
from polyglot.model.encoders.opennmt import (
    OpenNmtCnnEncoder,
    OpenNmtRnnEncoder,
    OpenNmtTransformerEncoder,
)
from polyglot.model.encoders.recurrent import GruEncoder, LstmEncoder
from polyglot.model.encoders.transformer import TransformerEncoder

__all__ = [
    "ENCODERS",
    "CnnEncoder",
    "EmbeddingEncoder",
    "Encoder",
    "FinalStates",
    "GruEncoder",
    "LstmEncoder",
    "OpenNmtCnnEncoder",
    "OpenNmtRnnEncoder",
    "OpenNmtTransformerEncoder",
    "TransformerEncoder",
]
