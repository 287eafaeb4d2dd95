"""Benchmarks: OpenNMT-py is prepared in a new folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "evaluation" / "benchmarks"
PEER_CONFIG = "save_data: onmt/run\n"
BUILD_VOCABULARY = """#!/bin/sh
test -f "$2" && test -f train.en || exit 1
touch onmt/vocab.src onmt/vocab.tgt
echo "$2" >> built
"""


@pytest.fixture
def measuring(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import measuring

    yield measuring
    del sys.modules["measuring"]


def test_each_benchmark_prepares_the_peer_with_its_own_configuration(
    measuring, tmp_path, monkeypatch
):
    program = tmp_path / "bin" / "onmt_build_vocab"
    program.parent.mkdir()
    program.write_text(BUILD_VOCABULARY)
    program.chmod(0o755)

    def write_pieces(data, folder, language):
        (folder / f"train.{language}").write_text("▁one\n", encoding="utf-8")

    monkeypatch.setattr(measuring, "write_pieces", write_pieces)
    arguments = argparse.Namespace(work=tmp_path, data=tmp_path, peer=program.parent)
    for name in ("speed", "transformer"):
        measuring.prepare_peer(arguments, name, PEER_CONFIG)
        assert (tmp_path / "peer" / f"{name}.yaml").read_text() == PEER_CONFIG
    # The vocabulary is built once, from the configuration of the first benchmark.
    assert (tmp_path / "peer" / "built").read_text().split() == ["speed.yaml"]
