"""Description of all requests in the form of OpenAPI, for GET /spec."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from polyglot.core.version import VERSION
from polyglot.serving.messages import (
    AttentionRequest,
    DetectRequest,
    EmbedRequest,
    HypothesesRequest,
    ScoreRequest,
    TranslateRequest,
)

REQUESTS: dict[str, tuple[str, type[BaseModel]]] = {
    "/translate": ("Translate texts", TranslateRequest),
    "/detect": ("Identify the language of texts", DetectRequest),
    "/hypotheses": ("Translate a text, with scores, directly or by a pivot", HypothesesRequest),
    "/score": ("Log-probability of translations", ScoreRequest),
    "/embed": ("Sentence embeddings", EmbedRequest),
    "/attention": ("Attention of the bridge over a text", AttentionRequest),
}
"""Summary and fields of each POST request."""

PAGES = {
    "/languages": "Languages with their targets",
    "/frontend/settings": "Limits and first languages",
    "/health": "State of the server",
    "/spec": "This description",
}
"""Summary of each GET request with an answer in JSON."""


def specification() -> dict[str, Any]:
    """Return the description. Every answer is JSON; that of an error has the field `error`."""
    paths = {}
    for path, summary in PAGES.items():
        paths[path] = {"get": {"summary": summary, "responses": _responses()}}
    for path, (summary, model) in REQUESTS.items():
        schema = model.model_json_schema()
        content = {
            "application/json": {"schema": schema},
            "application/x-www-form-urlencoded": {"schema": schema},
        }
        operation = {
            "summary": summary,
            "requestBody": {"required": True, "content": content},
            "responses": _responses(),
        }
        paths[path] = {"post": operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Polyglot", "version": VERSION},
        "paths": paths,
    }


def _responses() -> dict[str, Any]:
    error = {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
    }
    return {
        "200": {"description": "The answer"},
        "default": {
            "description": "An error",
            "content": {"application/json": {"schema": error}},
        },
    }
