"""Requests of the server: their fields, defaults and limits.

The first two have the fields of LibreTranslate, and ignore others that its clients may send, such
as `api_key`. The rest refuses unknown fields.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

AUTO = "auto"
"""Source language that is identified from the text."""
MOST_HYPOTHESES = 10

Texts = str | list[str]
Language = Annotated[str, Field(max_length=40)]


class TranslateRequest(BaseModel):
    """POST /translate"""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    q: Texts
    """Text, or a list of texts. A text may have several sentences and lines."""
    source: Language
    """Source language, or `auto`."""
    target: Language
    """Target language."""
    format: Literal["text", "html"] = "text"
    """`html`: translate the text between the tags."""
    alternatives: int = Field(0, ge=0, lt=MOST_HYPOTHESES)
    """Number of further translations."""


class DetectRequest(BaseModel):
    """POST /detect"""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    q: Texts
    """Text, or a list of texts."""


class OwnRequest(BaseModel):
    """Base class of requests that LibreTranslate does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class HypothesesRequest(OwnRequest):
    """POST /hypotheses"""

    q: str
    """Text."""
    source: Language
    """Source language, or `auto`."""
    target: Language
    """Target language."""
    count: int = Field(1, ge=1, le=MOST_HYPOTHESES)
    """Number of translations, best first."""
    pivot: Language | None = None
    """Translate into this language, and from it into the target language."""


class ScoreRequest(OwnRequest):
    """POST /score"""

    q: Texts
    """Source sentence, or a list of them."""
    translation: Texts
    """Translation of each."""
    source: Language
    """Source language."""
    target: Language
    """Target language."""


class EmbedRequest(OwnRequest):
    """POST /embed"""

    q: Texts
    """Sentence, or a list of sentences."""
    source: Language
    """Language of the sentences, or `auto`."""
    pooling: Literal["flat", "mean", "max"] = "flat"
    """Concatenate all rows of the memory, or take their mean or maximum."""
    normalize: bool = False
    """Scale each vector to length 1."""


class AttentionRequest(OwnRequest):
    """POST /attention"""

    q: str
    """Text, of which the first sentences are shown."""
    source: Language
    """Source language, or `auto`."""
