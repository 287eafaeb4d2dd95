"""OpenNMT-py and CTranslate2 on the device that `gpu.py` checks, where they are installed."""

from __future__ import annotations

import argparse
import gzip
import subprocess
import time

import measuring
import speed
import torch

import polyglot
from polyglot.core.markdown import table


def measure_peers(arguments: argparse.Namespace, device: torch.device, failures: list[str]) -> str:
    """Measure OpenNMT-py and CTranslate2 where they are installed, on the text of Multi30k."""
    if arguments.data is None or arguments.peer is None:
        return ""
    arguments.data = arguments.data.resolve()
    arguments.work = arguments.work.resolve()
    arguments.peer = arguments.peer.resolve()
    arguments.steps = 40 if arguments.quick else 400
    measuring.prepare_peer(arguments, "speed", speed.PEER_CONFIG)
    gpu = ["-world_size", 1, "-gpu_ranks", 0] if device.type == "cuda" else []
    rows = []
    for feeding in (0, 1):
        setting = f"model.decoder.input_feeding={str(bool(feeding)).lower()}"
        run = speed.train(arguments, f"peer-{feeding}", steps=arguments.steps, settings=[setting])
        ours = measuring.training_windows(run)[-1]["tokens_per_second"]
        theirs = measuring.train_peer(arguments, "speed", "-input_feed", feeding, *gpu)[-1]
        rows.append([f"training, input feeding {feeding}", f"{ours:,.0f}", f"{theirs:,.0f}"])
    rows += ctranslate2_rows(arguments, device, failures)
    columns = ["measure", "Polyglot", "OpenNMT-py or CTranslate2"]
    return f"## Peers\n\n{table(columns, rows)}"


CTRANSLATE2 = """
import sys, time, ctranslate2
model, text, device = sys.argv[1:]
lines = [line.split() for line in open(text, encoding="utf-8")]
translator = ctranslate2.Translator(model, device=device)
for beam in (1, 5):
    translator.translate_batch(lines[:64], beam_size=beam)
    start = time.perf_counter()
    translator.translate_batch(lines, beam_size=beam, max_batch_size=1024)
    print(len(lines) / (time.perf_counter() - start))
"""


def ctranslate2_rows(
    arguments: argparse.Namespace, device: torch.device, failures: list[str]
) -> list[list[str]]:
    """Return the sentences per second of the last OpenNMT-py model, converted to CTranslate2."""
    converter = arguments.peer / "ct2-opennmt-py-converter"
    folder = arguments.work / "peer"
    checkpoint = folder / "onmt" / f"model_step_{arguments.steps}.pt"
    if not converter.exists() or not checkpoint.exists():
        return []
    converted = folder / "ct2"
    convert = [converter, "--model_path", checkpoint, "--output_dir", converted, "--force"]
    python = arguments.peer / "python"
    measure = [python, "-c", CTRANSLATE2, converted, folder / "test.en", device.type]
    for command in (convert, measure):
        done = subprocess.run(list(map(str, command)), text=True, capture_output=True)
        if done.returncode:
            failures.append(f"CTranslate2: {done.stderr[-300:]}")
            return []
    model = polyglot.load(arguments.work / "runs" / "peer-1", device=str(device))
    with gzip.open(arguments.data / "test_2016_flickr.en.gz", "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = []
    for beam, theirs in zip((1, 5), done.stdout.split(), strict=True):
        start = time.perf_counter()
        model.translate(lines, source="en", target="de", beam=beam)
        ours = len(lines) / (time.perf_counter() - start)
        rows.append([f"beam {beam}, sentences/s", f"{ours:,.0f}", f"{float(theirs):,.0f}"])
    return rows
