"""Limits of the server, and the error for a request that cannot be answered."""

from __future__ import annotations

from dataclasses import dataclass

BAD_REQUEST = 400
TOO_LARGE = 413
UNAVAILABLE = 503


@dataclass(frozen=True)
class Limits:
    """Sizes and times that one client cannot exceed."""

    characters: int = 10_000
    """of the text of one request"""
    sentences: int = 500
    """of one request"""
    sentence_tokens: int = 1_000
    """of a sentence that is not split, as for scores; attention takes the square of it in memory"""
    body_bytes: int = 1 << 20
    """of the content of one request; more than the longest text in any encoding"""
    requests: int = 256
    """that are answered at a time"""
    waiting_sentences: int = 5_000
    """of all requests that wait for the model"""
    seconds: float = 60
    """until a request ends with an error, also while its content arrives"""
    batch_sentences: int = 128
    """that the model translates together"""
    collect_seconds: float = 0.005
    """that the model waits for further requests, if the first one does not fill a batch"""


class RequestError(Exception):
    """Request that cannot be answered: the status of HTTP, and a sentence for the client."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
