"""OpenNMT-py and CTranslate2 on the device that `gpu.py` checks, where they are installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import speed
import torch
import transformer
from measuring import MeasurementError, run_process, seconds_of
from programs import (
    HERE,
    ROOT,
    OpenNMT,
    Polyglot,
    export_to_ctranslate2,
    has_ctranslate2,
)
from suite import QUICK_SETTINGS, Bench
from suite_text import SOURCE, TARGET, prepare_text, read_lines

import polyglot
from polyglot.core.markdown import table

UPDATES = 400
COLUMNS = ["measure", "Polyglot", "OpenNMT-py or CTranslate2"]


def measure_peers(arguments: argparse.Namespace, device: torch.device, failures: list[str]) -> str:
    """Return the section about the peers; without `--peer`, an empty text."""
    if arguments.peer is None:
        return ""
    work = arguments.work.resolve()
    data = arguments.data.resolve() if arguments.data else None
    text = prepare_text(data, work, quick=arguments.quick)
    folder = work / text.label
    threads = torch.get_num_threads()
    settings = QUICK_SETTINGS if arguments.quick else ()
    version = Polyglot("Polyglot", ROOT, folder / "this", text, threads, settings)
    opennmt = OpenNMT(arguments.peer.absolute(), folder / "opennmt", text, threads)
    bench = Bench(text, folder, [version], opennmt, threads, arguments.quick)
    options = ["-world_size", 1, "-gpu_ranks", 0] if device.type == "cuda" else []

    rows = []
    try:
        rows += training_rows(bench, options)
        if has_ctranslate2():
            rows += search_rows(bench, device, options)
    except MeasurementError as error:
        failures.append(f"peers: {error}")
    return f"## Peers\n\nText: {text.name}.\n\n{table(COLUMNS, rows)}"


def training_rows(bench: Bench, options: Sequence[object]) -> list[list[str]]:
    """Train recurrent models. options: of OpenNMT-py."""
    updates = bench.updates(UPDATES)
    rows = []
    for input_feeding in (False, True):
        settings = speed.recurrent_settings(bench, input_feeding=input_feeding)
        ours = bench.current.training_rate("lstm", "multi30k/small", settings, updates=updates)
        feeding = ("-input_feed", int(input_feeding))
        theirs = bench.opennmt.training_rate(
            "lstm", speed.PEER_CONFIG, *feeding, *options, updates=updates
        )
        label = "with" if input_feeding else "without"
        name = f"training {label} input feeding, target tokens/s"
        rows.append([name, f"{ours.value:,.0f}", f"{theirs.value:,.0f}"])
    return rows


def search_rows(bench: Bench, device: torch.device, options: Sequence[object]) -> list[list[str]]:
    """Translate with a Transformer of OpenNMT-py, in Polyglot and in CTranslate2."""
    run = bench.current.convert(transformer.opennmt_model(bench, *options), "translating")
    exported = export_to_ctranslate2(bench.current, run)
    model = polyglot.load(run, device=str(device))
    lines = read_lines(bench.text.test)
    output = bench.work / "ctranslate2.gpu"
    script = HERE / "ctranslate2_workers.py"
    rows = []
    for beam in (1, 5):
        search = {"source": SOURCE, "target": TARGET, "beam": beam, "like": "opennmt"}
        model.translate(lines[:64], **search)  # warm-up
        seconds = seconds_of(lambda search=search: model.translate(lines, **search))
        command = [sys.executable, script, exported, bench.text.test, output]
        printed = run_process([*command, "--beam", beam, "--device", device.type])
        theirs = transformer.last_number(printed)
        name = f"beam {beam}, sentences/s"
        rows.append([name, f"{len(lines) / seconds:,.0f}", f"{theirs:,.0f}"])
    return rows
