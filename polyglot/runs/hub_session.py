"""Work with the hub: its errors become messages, and progress is shown on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from polyglot.core.errors import HubError
from polyglot.core.hub_address import HubAddress

LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"
LONGEST_REASON = 300
WRONG_FILE_NAME = ("Invalid pointer path", "Invalid filename")
"""Messages of `huggingface_hub` for a name such as `../file`."""
TRANSFER_ERRORS = (RuntimeError, ConnectionError, TimeoutError)
"""Errors of the library that transfers large files (Xet), which has no public classes for them."""


@contextmanager
def hub_session(address: HubAddress, action: str) -> Iterator[None]:
    """Context manager that turns the errors of `huggingface_hub` into a HubError.

    action: end of `cannot be …`, such as `downloaded`. Errors of this machine, such as a full disk,
    stay as they are. Progress bars are shown on a terminal only.
    """
    try:
        with _progress_on_terminal():
            yield
    except Exception as error:
        reason = _reason(error, address)
        if reason is None:
            raise
        raise HubError(f"{address}: cannot be {action}: {reason}") from None


@contextmanager
def _progress_on_terminal() -> Iterator[None]:
    """Context manager that hides the progress bars of `huggingface_hub` outside a terminal."""
    from huggingface_hub import utils

    if sys.stderr.isatty() or utils.are_progress_bars_disabled():
        yield
        return
    utils.disable_progress_bars()
    try:
        yield
    finally:
        utils.enable_progress_bars()


def _reason(error: BaseException, address: HubAddress) -> str | None:
    """Return the reason and an advice; None for an error of this machine, such as a full disk.

    The order matters: the first classes are special cases of later ones.
    """
    from huggingface_hub import constants, errors

    endpoint = constants.ENDPOINT
    if isinstance(error, errors.GatedRepoError):
        return f"its owner has set conditions; accept them at {endpoint}/{address.repository}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"it has no revision {address.revision or 'main'!r}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            f"{endpoint} has no such repository, or it is private; check the name, "
            f"and for a private one {LOG_IN}"
        )
    if isinstance(error, errors.HfHubHTTPError):
        return _status_reason(error, endpoint)
    if isinstance(error, errors.HFValidationError):
        return _first_line(error)
    if isinstance(error, errors.LocalEntryNotFoundError):
        return _missing_copy_reason(error, endpoint)
    if isinstance(error, (errors.OfflineModeIsEnabled, errors.HTTPError)):
        return f"{endpoint} cannot be reached ({_first_line(error)}); try again later"
    if isinstance(error, RuntimeError) and error.__cause__ is not None:  # of an upload
        return _reason(error.__cause__, address)
    reason = _known_message_reason(str(error), endpoint)
    is_transfer = isinstance(error, TRANSFER_ERRORS) or type(error).__name__.startswith("Xet")
    if reason is None and is_transfer:
        return f"the transfer failed ({_first_line(error)}); try again later"
    return reason


def _status_reason(error: Exception, endpoint: str) -> str:
    """Reason for an answer of the hub with an error code."""
    status = error.response.status_code
    message = _first_line(getattr(error, "server_message", None) or error)
    if status == 401:
        return f"{endpoint} does not know who you are ({message}); {LOG_IN}"
    if status == 403:
        return f"{endpoint} does not allow it ({message}); use a token that has the right to write"
    if status >= 500 or status == 429:
        return f"{endpoint} answers with status {status} ({message}); try again later"
    return f"{endpoint} refuses the request with status {status}: {message}"


def _missing_copy_reason(error: Exception, endpoint: str) -> str:
    """Reason if the hub cannot be reached and the cache does not have the files."""
    from huggingface_hub import constants, errors

    if constants.is_offline_mode():
        return (
            "the hub is not asked, because HF_HUB_OFFLINE is set, "
            "and not all of its files are on this machine"
        )
    cause = error.__cause__
    if isinstance(cause, errors.HfHubHTTPError):
        return _status_reason(cause, endpoint)
    reason = _first_line(cause or error)
    if isinstance(cause, errors.FileMetadataError):
        return f"{endpoint} does not answer as a hub does: {reason}"
    return (
        f"{endpoint} cannot be reached ({reason}), and not all of its files are on this machine; "
        "try again later"
    )


def _known_message_reason(message: str, endpoint: str) -> str | None:
    """Reason of the errors of `huggingface_hub` that only their message tells apart."""
    if any(text in message for text in WRONG_FILE_NAME):
        return "the name of a file leads out of its folder; do not use this repository"
    if "Consistency check failed" in message:
        return f"a file arrived with another size than announced; try again ({message[:100]})"
    if "Invalid metadata in README.md" in message:
        details = " ".join(message.split())[:LONGEST_REASON]
        return f"{endpoint} refuses the metadata of the model card: {details}"
    return None


def _first_line(error: object) -> str:
    """First line of a message, or the class of an error without a message."""
    for line in str(error).splitlines():
        if line.strip():
            return line.strip()[:LONGEST_REASON]
    return type(error).__name__
