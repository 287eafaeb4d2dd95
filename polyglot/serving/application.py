"""Addresses of the server: which request gets which answer, and the form of errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyglot.config.loading import check_settings
from polyglot.core.console import visible
from polyglot.core.errors import CheckpointError, ConfigError, PolyglotError
from polyglot.serving.bodies import read_values
from polyglot.serving.languages import language_name
from polyglot.serving.limits import BAD_REQUEST, UNAVAILABLE, RequestError
from polyglot.serving.page import CONTENT_SECURITY_POLICY, web_page
from polyglot.serving.service import TranslationService
from polyglot.serving.specification import REQUESTS, specification

LONGEST_MESSAGE = 1000
"""Characters of an error message, which may quote the request."""
RETRY_SECONDS = "5"
SERVER_ERROR = 500
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of every answer."""

Answer = Callable[[Any], Awaitable[Any]]
"""Method of the service that answers a request."""

logger = logging.getLogger("polyglot")


def create_application(
    service: TranslationService,
    *,
    allowed_origins: Sequence[str] = (),
) -> Starlette:
    """Return the application of a service that has started.

    allowed_origins: addresses of other web pages whose scripts may read the answers.
    """
    middleware = [Middleware(SecurityHeaders)]
    if allowed_origins:
        origins = list(allowed_origins)
        cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"])
        middleware.append(cors)
    application = Starlette(
        routes=[*_pages(service), *_information(service), *_work(service)],
        middleware=middleware,
        exception_handlers={
            RequestError: _request_error,
            PolyglotError: _polyglot_error,
            HTTPException: _http_error,
            ClientDisconnect: _disconnected,
            Exception: _unexpected_error,
        },
    )
    application.router.redirect_slashes = False
    return application


# Routes


def _pages(service: TranslationService) -> list[Route]:
    """Return the routes of the web page."""
    page = web_page(service)
    contents = {
        "/": (page.html, "text/html"),
        "/style.css": (page.style, "text/css"),
        "/script.js": (page.script, "text/javascript"),
    }

    async def respond(request: Request) -> Response:
        content, media_type = contents[request.url.path]
        return Response(content, media_type=media_type)

    return [Route(path, respond) for path in contents]


def _information(service: TranslationService) -> list[Route]:
    """Return the routes that need no model."""
    languages = service.languages.describe()
    settings = _frontend_settings(service)
    description = specification()

    async def respond_languages(request: Request) -> Response:
        return JSONResponse(languages)

    async def respond_settings(request: Request) -> Response:
        return JSONResponse(settings)

    async def respond_specification(request: Request) -> Response:
        return JSONResponse(description)

    async def respond_health(request: Request) -> Response:
        return JSONResponse(service.health())

    return [
        Route("/languages", respond_languages),
        Route("/frontend/settings", respond_settings),
        Route("/spec", respond_specification),
        Route("/health", respond_health),
    ]


def _frontend_settings(service: TranslationService) -> dict[str, Any]:
    """Return the settings that clients of LibreTranslate ask for."""
    source = service.languages.sources[0]
    different = [target for target in service.languages.targets if target != source]
    target = different[0] if different else source
    return {
        "apiKeys": False,
        "charLimit": service.limits.characters,
        "filesTranslation": False,
        "frontendTimeout": 500,
        "keyRequired": False,
        "language": {
            "source": {"code": source, "name": language_name(source)},
            "target": {"code": target, "name": language_name(target)},
        },
        "suggestions": False,
        "supportedFilesFormat": [],
    }


def _work(service: TranslationService) -> list[Route]:
    """Return the routes of requests to the model."""
    answers: dict[str, Answer] = {
        "/translate": service.translate,
        "/detect": service.detect,
        "/hypotheses": service.hypotheses,
        "/score": service.score,
        "/embed": service.embed,
        "/attention": service.attention,
    }
    routes = []
    for path, answer in answers.items():
        _, model = REQUESTS[path]
        routes.append(Route(path, _responder(service, model, answer), methods=["POST"]))
    return routes


def _responder(
    service: TranslationService,
    model: type[BaseModel],
    answer: Answer,
) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that reads a request, and answers it within the time of the server."""
    limits = service.limits

    async def respond(request: Request) -> Response:
        with service.admitted():
            try:
                async with asyncio.timeout(limits.seconds):
                    values = await read_values(request, limits)
                    message = check_settings(model, values, where="")
                    result = await _unless_disconnected(request, answer(message))
            except TimeoutError:
                raise RequestError(
                    UNAVAILABLE,
                    f"no answer within {limits.seconds:g} seconds; try again later, "
                    "or send less text",
                ) from None
        return JSONResponse(result)

    return respond


async def _unless_disconnected(request: Request, work: Awaitable[Any]) -> Any:
    """Wait for an answer; stop the work if the client leaves. Raises ClientDisconnect then."""
    answer = asyncio.ensure_future(work)
    departure = asyncio.ensure_future(request.receive())  # nothing else comes after the content
    try:
        await asyncio.wait([answer, departure], return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientDisconnect
        return answer.result()
    finally:
        answer.cancel()
        departure.cancel()


# Errors


def _error(status: int, message: str) -> Response:
    """Return an error in the form of LibreTranslate."""
    text = visible(message.replace("\n", " "))
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONGEST_MESSAGE]} …"
    headers = {"retry-after": RETRY_SECONDS} if status == UNAVAILABLE else None
    return JSONResponse({"error": text}, status_code=status, headers=headers)


async def _request_error(request: Request, error: RequestError) -> Response:
    return _error(error.status, str(error))


async def _polyglot_error(request: Request, error: PolyglotError) -> Response:
    """Answer an error of the client, or one of the run, which is logged too."""
    if isinstance(error, CheckpointError):
        logger.error(f"{request.url.path}: {error}")
        return _error(SERVER_ERROR, str(error))
    if isinstance(error, ConfigError):
        return _error(BAD_REQUEST, "; ".join(map(str, error.problems)))
    return _error(BAD_REQUEST, str(error))


async def _http_error(request: Request, error: HTTPException) -> Response:
    """Answer an address or a method that does not exist."""
    message = error.detail
    if error.status_code == 404:
        message = f"{request.url.path}: no such address; GET /spec lists all"
    if error.status_code == 405:
        message = f"{request.url.path}: the method {request.method} is not possible; see GET /spec"
    response = _error(error.status_code, message)
    response.headers.update(error.headers or {})
    return response


async def _disconnected(request: Request, error: ClientDisconnect) -> Response:
    """Return an answer that no client reads, since the connection is closed."""
    return _error(BAD_REQUEST, "the client has closed the connection")


async def _unexpected_error(request: Request, error: Exception) -> Response:
    """Answer after an error of the program, whose traceback is logged."""
    logger.error(f"{request.url.path}: error of the program", exc_info=error)
    return _error(SERVER_ERROR, "error of the server; its log has the details")


class SecurityHeaders:
    """Adds the headers that restrict what a browser does with an answer."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *headers]
            await send(message)

        await self._application(scope, receive, send_with_headers)
