"""Speed and BLEU of translation in float32, bf16 and int8, compared with CTranslate2.

    python evaluation/benchmarks/precision.py RUN --from en --to de

RUN is a run whose direction CTranslate2 can compute (docs/use/reuse.md), with its test text. Both
programs translate the same text with the same parameters in one thread, from text to text. Printed
are processor times, which other programs on the machine change little: the median of repetitions in
turns. The table is also written to RUN/precision.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import sacrebleu
import torch
from machine import machine_now

from polyglot.core.environment import keep_freed_memory, limit_shape_caches
from polyglot.core.markdown import table
from polyglot.data.text_files import line_blocks
from polyglot.inference.ctranslate2_engine import BEAM_BATCH, GREEDY_BATCH
from polyglot.inference.translator import Translator
from polyglot.interop.ctranslate2 import export_ctranslate2
from polyglot.layers.low_precision import available_precisions
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair

BEAMS = (5, 1)
LONGEST = 200
"""Length limit of a translation in both programs, in pieces."""
WARM_UP = 64
"""Sentences that are translated before the measurement."""

Translate = Callable[[Sequence[str], int], list[str]]
"""Sentences and beam -> translations."""


@dataclass
class System:
    """One program in one precision."""

    name: str
    translate: Translate
    seconds: dict[int, list[float]] = field(default_factory=dict)
    """Processor times by beam."""
    translations: dict[int, list[str]] = field(default_factory=dict)
    """Translations by beam."""

    def measure(self, sentences: Sequence[str], beam: int) -> None:
        start = time.process_time()
        self.translations[beam] = self.translate(sentences, beam)
        self.seconds.setdefault(beam, []).append(time.process_time() - start)


def polyglot_system(
    run: Run,
    pair: LanguagePair,
    precision: str,
    engine: str = "polyglot",
) -> System:
    translator = Translator.load(run, pairs=[pair], precision=precision, engine=engine)

    def translate(sentences: Sequence[str], beam: int) -> list[str]:
        return translator.translate(
            sentences,
            source=pair.source,
            target=pair.target,
            beam=beam,
            max_length_ratio=0.0,
            max_length_extra=LONGEST,
        )

    name = f"Polyglot, {precision}"
    if engine != "polyglot":
        name += f", engine {engine}"
    return System(name, translate)


def ctranslate2_system(run: Run, pair: LanguagePair, folder: Path, precision: str) -> System:
    import ctranslate2

    translator = Translator.load(run, pairs=[pair])
    source_steps = translator.normalisers[pair.source]
    target_steps = translator.normalisers[pair.target]
    source_pieces = translator.vocabularies[pair.source]
    target_pieces = translator.vocabularies[pair.target]
    ids = {piece: id for id, piece in enumerate(target_pieces.pieces(range(len(target_pieces))))}
    exported = ctranslate2.Translator(
        str(folder), compute_type=precision, inter_threads=1, intra_threads=1
    )

    def translate(sentences: Sequence[str], beam: int) -> list[str]:
        texts = [source_steps.apply(sentence) for sentence in sentences]
        pieces = [source_pieces.pieces(tokens) for tokens in source_pieces.encode(texts)]
        results = exported.translate_batch(
            pieces,
            beam_size=beam,
            min_decoding_length=0,
            max_decoding_length=LONGEST,
            max_batch_size=GREEDY_BATCH if beam == 1 else BEAM_BATCH,  # as our engine
        )
        tokens = []
        for result in results:
            tokens.append([ids[piece] for piece in result.hypotheses[0]])
        return [target_steps.undo(text, {}) for text in target_pieces.decode(tokens)]

    return System(f"CTranslate2, {precision}", translate)


def read_test_text(run: Run, pair: LanguagePair) -> dict[str, list[str]]:
    """Read the test text of a run that has a file for each language."""
    [corpus] = run.config.data.test
    text = {}
    for language in (pair.source, pair.target):
        path = Path(run.config.data.folder, corpus.path.format(language=language))
        lines: list[str] = []
        for block in line_blocks(path, empty=True):
            lines += block
        text[language] = lines
    return text


def result_table(systems: Sequence[System], references: Sequence[str], beam: int) -> str:
    """Return the table of one beam size. The first system is the standard of equal translations."""
    rows = []
    standard = systems[0].translations[beam]
    for system in systems:
        translations = system.translations[beam]
        median = statistics.median(system.seconds[beam])
        bleu = sacrebleu.corpus_bleu(translations, [references], lowercase=True)
        equal = sum(map(str.__eq__, translations, standard))
        rate = len(translations) / median
        rows.append([system.name, f"{rate:.1f}", f"{bleu.score:.2f}", f"{equal:,}"])
    header = ["system", "sentences/s of one thread", "BLEU", f"equal to {systems[0].name}"]
    return table(header, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--to", dest="target", required=True)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    keep_freed_memory()
    limit_shape_caches()
    torch.set_num_threads(1)

    run = Run.open(arguments.run)
    pair = LanguagePair(arguments.source, arguments.target)
    text = read_test_text(run, pair)
    sentences = text[pair.source]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "exported")
        export_ctranslate2(run, pair, folder)
        precisions = available_precisions(torch.device("cpu"))
        systems = [polyglot_system(run, pair, precision) for precision in precisions]
        for precision in ("float32", "int8"):
            systems.append(polyglot_system(run, pair, precision, "ctranslate2"))
            systems.append(ctranslate2_system(run, pair, folder, precision))
        for beam in BEAMS:
            for system in systems:
                system.translate(sentences[:WARM_UP], beam)
            for _ in range(arguments.repetitions):
                for system in systems:
                    system.measure(sentences, beam)

    tables = []
    for beam in BEAMS:
        name = "Greedy" if beam == 1 else f"Beam {beam}"
        tables.append(f"{name}:\n\n{result_table(systems, text[pair.target], beam)}\n")
    page = "\n".join([*tables, f"{machine_now(1)}\n"])
    (arguments.run / "precision.md").write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
