"""Decoders by name. A new decoder needs one file and one import here."""

from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.decoders.opennmt import OpenNmtRnnDecoder, OpenNmtTransformerDecoder
from polyglot.model.decoders.recurrent import GruDecoder, LstmDecoder
from polyglot.model.decoders.rnnsearch import RnnSearchDecoder
from polyglot.model.decoders.transformer import TransformerDecoder

__all__ = [
    "DECODERS",
    "Decoder",
    "GruDecoder",
    "LstmDecoder",
    "OpenNmtRnnDecoder",
    "OpenNmtTransformerDecoder",
    "RnnSearchDecoder",
    "TransformerDecoder",
]
