"""Content of requests: JSON or a form, as a mapping from fields to values."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from polyglot.serving.limits import BAD_REQUEST, TOO_LARGE, Limits, RequestError

FORM = "application/x-www-form-urlencoded"
FORM_WITH_PARTS = "multipart/form-data"
MOST_FIELDS = 1000


async def read_values(request: Request, limits: Limits) -> dict[str, Any]:
    """Return the fields of a request. Content of another type than a form should be JSON.

    Raises RequestError for content that cannot be read or is too long.
    """
    body = await _read_body(request, limits)
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == FORM:
        return _collect_fields(_parse_form(body))
    if content_type == FORM_WITH_PARTS:
        return _collect_fields(await _parse_parts(request, body))
    return _parse_json(body)


async def _read_body(request: Request, limits: Limits) -> bytes:
    """Read the content, and stop when it becomes too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limits.body_bytes:
            raise RequestError(
                TOO_LARGE,
                f"the content of a request may have {limits.body_bytes} bytes; send less text",
            )
    return bytes(body)


def _parse_json(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):  # also UnicodeDecodeError
        raise RequestError(
            BAD_REQUEST,
            'the content is not JSON; send an object such as {"q": "…", "source": "de"}, or a form',
        ) from None
    if not isinstance(values, dict):
        raise RequestError(
            BAD_REQUEST,
            'the content should be a JSON object such as {"q": "…", "source": "de"}',
        )
    return values


def _parse_form(body: bytes) -> Iterable[tuple[str, str]]:
    """Parse fields in the form of a URL, in UTF-8, also where a client has not encoded it."""
    try:
        text = body.decode("utf-8")
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise RequestError(
            BAD_REQUEST,
            f"the form cannot be read; it should be in UTF-8, with at most {MOST_FIELDS} fields",
        ) from None


async def _parse_parts(request: Request, body: bytes) -> Iterable[tuple[str, str | UploadFile]]:
    """Parse a form with parts, as a web page sends it."""

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(request.headers, stream(), max_files=0, max_fields=MOST_FIELDS)
    try:
        form = await parser.parse()
    except (MultiPartException, ValueError, KeyError) as error:
        reason = getattr(error, "message", "its parts are not complete")
        raise RequestError(BAD_REQUEST, f"the form cannot be read: {reason}") from None
    return form.multi_items()


def _collect_fields(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields by name; a field that is repeated is a list."""
    values: dict[str, Any] = {}
    for name, value in fields:
        if name not in values:
            values[name] = value
        elif isinstance(values[name], list):
            values[name].append(value)
        else:
            values[name] = [values[name], value]
    return values
