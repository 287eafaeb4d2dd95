"""Values between processes: JSON in tensors, checked against the type that is expected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import torch

from polyglot.core.errors import TrainingError
from polyglot.distributed import messages
from polyglot.distributed.messages import gather_values
from polyglot.distributed.processes import is_connection_error


@dataclass(frozen=True, slots=True)
class Losses:
    task: str
    losses: Mapping[str, float]
    tokens: int = 0


class PreparedGroup:
    """All-gather of one process, whose peer sends prepared bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
        self.content = content
        monkeypatch.setattr(torch.distributed, "all_gather", self.all_gather)

    def all_gather(self, rows, local, group):
        rows[0].copy_(local)
        if local.dtype == torch.int64:
            rows[1].fill_(len(self.content))
        else:
            rows[1][: len(self.content)] = torch.tensor(list(self.content), dtype=torch.uint8)


@pytest.mark.parametrize(
    ("kind", "value", "content"),
    [
        (str | None, None, b'"a problem"'),
        (dict[str, dict[str, set[str]]], {"a": {"b": {"c", "d"}}}, b'{"x":{}}'),
        (
            tuple[list[Losses], str | None],
            ([Losses("de-en", {"loss": 0.1 + 0.2}, 3)], None),
            b'[[{"task":"en-de","losses":{"loss":1e-300}}],"?"]',
        ),
    ],
)
def test_values_arrive_with_their_type(kind, value, content, monkeypatch):
    PreparedGroup(monkeypatch, content)
    own, received = gather_values(value, kind, None, 2)
    assert own == value
    assert type(received) is type(value) or isinstance(received, (str, type(None)))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 5e-324, -0.0, 0.1, 2.0**60])
def test_every_float_arrives_bit_for_bit(number, monkeypatch):
    PreparedGroup(monkeypatch, b"{}")
    (own, _) = gather_values({"loss": number}, dict[str, float], None, 2)
    assert repr(own["loss"]) == repr(number)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x04\x95", b"[1]", b'{"a": "b"}', b'{"a": 1', b"cos\nsystem\n(S'ls'\ntR."],
)
def test_another_value_is_an_error_that_names_its_process(content, monkeypatch):
    PreparedGroup(monkeypatch, content)
    message = "process 1 sent a value that cannot be used .* the same version of the program"
    with pytest.raises(TrainingError, match=message):
        gather_values({"a": 1.5}, dict[str, float], None, 2)


def test_a_message_of_another_size_does_not_fill_the_memory(monkeypatch):
    PreparedGroup(monkeypatch, b"x" * 100)
    monkeypatch.setattr(messages, "LARGEST_MESSAGE", 99)
    with pytest.raises(TrainingError, match="sent 100 bytes; at most 99"):
        gather_values("", str, None, 2)


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [
        (torch.distributed.DistBackendError("any"), True),
        (RuntimeError("[/pytorch/third_party/gloo/transport/tcp/pair.cc:525] Read error"), True),
        (RuntimeError("Connection reset by peer"), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), False),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), False),
    ],
)
def test_only_errors_of_the_communication_mean_a_lost_process(error, is_lost):
    assert is_connection_error(error) == is_lost
