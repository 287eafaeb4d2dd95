"""`polyglot translate`, and `--device` of all commands that compute with a run."""

from __future__ import annotations

import gzip
import io
import os
import re
import threading
import warnings
from pathlib import Path

import pytest
from rich.console import Console

from polyglot.cli import progress, translation
from polyglot.inference.translator import Translator
from polyglot.layers import onednn
from tests.builders.command_line import TEXT, Result
from tests.cli.small_run import TRANSLATE, start_program

GERMAN = "".join(f"{line}\n" for line in TEXT["de"])


# Input and output ------------------------------------------------------------------------------


def test_translations_are_in_order_and_blank_lines_stay_blank(folder, polyglot):
    long_sentence = "das Kind liest ein Buch und ein Vogel sieht zwei Katzen"
    lines = ["", "Ein Hund schläft", "", "es regnet", *TEXT["de"], "   ", long_sentence]
    result = polyglot(*TRANSLATE, stdin="\n".join(lines))
    assert result.status == 0
    assert f"{len(lines)} lines in " in result.errors

    translations = result.output.removesuffix("\n").split("\n")
    assert len(translations) == len(lines)
    assert [bool(line.strip()) for line in lines][:4] == [bool(text) for text in translations][:4]
    assert translations[9] == ""
    for number in (1, 3, 10):
        # A sentence alone has the same translation as among others.
        alone = polyglot(*TRANSLATE, stdin=f"{lines[number]}\n")
        assert alone.output == f"{translations[number]}\n"


def test_file_and_gzip_file_are_read_like_standard_input(folder, polyglot):
    Path("some.txt").write_text(GERMAN, encoding="utf-8")
    Path("some.gz").write_bytes(gzip.compress(GERMAN.encode()))
    expected = polyglot(*TRANSLATE, stdin=GERMAN).output
    assert expected.count("\n") == len(TEXT["de"])
    assert polyglot(*TRANSLATE, "some.txt").output == expected
    assert polyglot(*TRANSLATE, "some.gz").output == expected


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "standard input"])
def test_output_is_printed_before_all_input_is_translated(
    is_file, folder, polyglot, capsys, monkeypatch
):
    """Translations in portions are those of the whole text."""
    Path("some.txt").write_text(GERMAN, encoding="utf-8")
    arguments = [*TRANSLATE, "--n-best", 1]
    stdin = GERMAN
    if is_file:
        arguments.append("some.txt")
        stdin = ""
    expected = polyglot(*arguments, stdin=stdin).output.splitlines()

    printed = []
    hypotheses = Translator.hypotheses

    def recording_hypotheses(translator, lines, **settings):
        printed.append(capsys.readouterr().out.splitlines())
        return hypotheses(translator, lines, **settings)

    monkeypatch.setattr(Translator, "hypotheses", recording_hypotheses)
    monkeypatch.setattr("polyglot.data.text_files.PORTION", 2)
    last_output = polyglot(*arguments, stdin=stdin).output.splitlines()
    assert [*printed, last_output] == [[], expected[:2], expected[2:4], expected[4:]]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(is_terminal, folder, polyglot, monkeypatch):
    Path("some.txt").write_text("es regnet\n" * 3, encoding="utf-8")
    expected = polyglot("--quiet", *TRANSLATE, "some.txt")
    assert expected.errors == ""
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=is_terminal, width=80)
    monkeypatch.setattr(progress, "stderr_console", console)
    monkeypatch.setattr(translation, "stderr_console", console)
    assert polyglot("--quiet", *TRANSLATE, "some.txt") == expected
    assert ("3/3" in terminal.getvalue()) == is_terminal


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory.")])
def test_line_too_long_for_memory_is_named_after_the_lines_before_it(
    error, folder, polyglot, monkeypatch
):
    hypotheses = Translator.hypotheses

    def limited_hypotheses(translator, lines, **settings):
        if max(map(len, lines)) > 10_000:
            raise error
        return hypotheses(translator, lines, **settings)

    monkeypatch.setattr(Translator, "hypotheses", limited_hypotheses)
    lines = ["es regnet", "es regnet", "es " * 5000, "es regnet"]
    Path("long.de").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = polyglot(*TRANSLATE, "long.de")
    assert result.status == 2
    assert len(result.output.splitlines()) == 2
    assert (
        "error: long.de, line 3: not enough memory to translate its 15,000 characters; "
        "divide it, or lower --beam"
    ) in result.errors


def test_invalid_end_of_a_file_is_found_before_anything_is_printed(folder, polyglot, monkeypatch):
    monkeypatch.setattr("polyglot.data.text_files.BLOCK", 16)
    Path("some.txt").write_bytes(b"es regnet\n" * 5 + b"\xff\n")
    message = polyglot.refuses(*TRANSLATE, "some.txt")
    assert "some.txt, line 6: not UTF-8" in message


def test_empty_input_gives_empty_output(folder, polyglot):
    Path("empty.txt").touch()
    Path("empty.gz").write_bytes(gzip.compress(b""))
    for file in ((), ("empty.txt",), ("empty.gz",)):
        assert polyglot("--quiet", *TRANSLATE, *file) == Result(0, "", "")


def test_named_pipe_is_read_once_and_closed(folder, polyglot):
    os.mkfifo("pipe")
    text = "es regnet\n\n"
    threading.Thread(target=Path("pipe").write_text, args=(text,), daemon=True).start()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = polyglot(*TRANSLATE, "pipe")
    assert result.output == polyglot(*TRANSLATE, stdin=text).output
    for warning in caught:
        assert warning.category is not ResourceWarning or "pipe" not in str(warning.message)


def test_answer_is_printed_before_the_input_ends(folder):
    """Afterwards the reader of the output leaves early, as `head` does. That is not an error."""
    with start_program(*TRANSLATE) as process:
        for _ in range(2):
            process.stdin.write(b"es regnet\n")
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdout.close()
        process.stdin.write(b"es regnet\n" * 5)
        process.stdin.close()
        errors = process.stderr.read()
        assert (process.wait(timeout=60), errors) == (0, b"")


def test_input_that_cannot_be_read(folder, polyglot):
    assert "nowhere: no such file" in polyglot.refuses(*TRANSLATE, "nowhere")
    message = polyglot.refuses(*TRANSLATE, stdin=b"es regnet\n\xff\n")
    assert "standard input, line 2: not UTF-8" in message
    message = polyglot.refuses("translate", "runs/nobody", "--from", "de", "--to", "fr")
    assert "runs/nobody: no run directory" in message


# Search ----------------------------------------------------------------------------------------


def test_n_best_hypotheses_are_sorted_by_score(folder, polyglot):
    text = "Ein Hund schläft\n\nes regnet\n"
    result = polyglot(*TRANSLATE, "--beam", 4, "--n-best", 3, stdin=text)
    rows = [line.split("\t") for line in result.output.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    for number in ("1", "3"):
        scores = [float(row[1]) for row in rows if row[0] == number]
        log_probabilities = [float(row[2]) for row in rows if row[0] == number]
        assert scores == sorted(scores, reverse=True)
        for score, log_probability in zip(scores, log_probabilities, strict=True):
            assert log_probability <= score <= 0

    best = polyglot(*TRANSLATE, "--beam", 4, stdin=text).output.splitlines()
    assert best == [rows[0][3], rows[3][3], rows[4][3]]
    assert best[1] == ""


def test_more_hypotheses_than_the_beam(folder, polyglot):
    message = polyglot.refuses(*TRANSLATE, "--beam", 2, "--n-best", 5, stdin="es regnet\n")
    assert "5 hypotheses cannot come from a beam of 2" in message


def test_score_without_length_penalty_is_the_log_probability(folder, polyglot):
    def score_and_log_probability(penalty: float) -> tuple[float, float]:
        options = ("--length-penalty", penalty, "--n-best", 1)
        columns = polyglot(*TRANSLATE, *options, stdin="es regnet\n").output.split("\t")
        return float(columns[1]), float(columns[2])

    score, log_probability = score_and_log_probability(0)
    assert score == log_probability
    score, log_probability = score_and_log_probability(1)
    assert score > log_probability


def test_each_checkpoint_can_be_chosen(folder, polyglot):
    def output_of(*options: str) -> str:
        return polyglot(*TRANSLATE, "--n-best", 1, *options, stdin="es regnet\n").output

    second = output_of("--checkpoint", "2")
    last = output_of("--checkpoint", "4")
    mean = output_of("--checkpoint", "average:2")
    assert len({second, last, mean}) == 3
    assert output_of("--checkpoint", "last") == last
    assert output_of("--checkpoint", "average:1") == last
    assert output_of("--checkpoint", "best") == output_of()


# Summary and paragraphs ------------------------------------------------------------------------


def test_summary_has_lines_tokens_speed_and_settings(folder, polyglot):
    lines = ["Ein Hund schläft", "", "zwei Katzen sehen einen Vogel"]
    errors = polyglot(*TRANSLATE, "--beam", 3, stdin="\n".join(lines)).errors
    assert re.search(
        r"3 lines in \d+\.\d s, [\d,.]+ lines/s; 8 source and \d+ target tokens", errors
    )
    assert "1 empty line in the input, empty in the output" in errors
    assert "search: beam 3, length_penalty 1, length_normalisation power, " in errors
    assert "cut at the largest length" not in errors or "max_length_ratio" in errors


def test_quiet_translation_has_no_summary(folder, polyglot):
    result = polyglot("--quiet", *TRANSLATE, stdin="es regnet\n")
    assert (result.output.count("\n"), result.errors) == (1, "")


def test_paragraphs_give_one_line_each(folder, polyglot):
    first, second = "Ein Hund schläft.", "Es regnet."
    parts = polyglot(*TRANSLATE, stdin=f"{first}\n{second}\n").output.splitlines()
    paragraphs = f"{first} {second}\n\n{second}\n"
    result = polyglot(*TRANSLATE, "--split-sentences", stdin=paragraphs)
    assert result.output == f"{' '.join(filter(None, parts))}\n\n{parts[1]}\n"
    assert "3 lines in " in result.errors


def test_long_lines_are_counted_and_can_be_divided(folder, polyglot):
    line = f"{' '.join(TEXT['de'] * 10)}\n"
    errors = polyglot(*TRANSLATE, "--beam", 1, stdin=line).errors
    assert "1 line with more than 100 tokens, the longest sentence in training" in errors
    assert "--split-sentences divides such lines" in errors
    result = polyglot(*TRANSLATE, "--beam", 1, "--split-sentences", stdin=line)
    assert result.output.count("\n") == 1
    assert "de: 1 sentence with more than 100 tokens (data.filter.max_length" in result.errors


def test_paragraphs_with_several_sources_or_hypotheses_are_refused(folder, polyglot):
    split = (*TRANSLATE, "--split-sentences")
    message = polyglot.refuses(*split, "--n-best", 2, stdin="es regnet\n")
    assert "n_best: found 2; split sentences have one translation of each line" in message
    Path("some.de").write_text("es regnet\n", encoding="utf-8")
    sources = ("--from", "de=some.de", "--from", "en=some.de", "--to", "fr")
    message = polyglot.refuses("translate", "runs/mine", *sources, "--split-sentences")
    assert "split sentences: found 2 source languages" in message


# Languages and devices -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("de", "xx", "target language: no decoder named 'xx'. Known: de, en, fr"),
        (
            "dee",
            "fr",
            "source language: no encoder named 'dee'. Did you mean 'de'? Known: de, en, fr",
        ),
    ],
)
def test_language_that_the_run_does_not_have(source, target, message, folder, polyglot):
    arguments = ("translate", "runs/mine", "--from", source, "--to", target)
    assert message in polyglot.refuses(*arguments, stdin="es regnet\n")


def test_target_language_without_a_decoder(folder, polyglot):
    schedule = "schedule={pairs: [de-en, fr-en]}"
    training = ("train", "mine.yaml", "run=other", "training.steps=1", schedule)
    assert polyglot(*training, "validation.bleu_pairs=[]").status == 0
    message = polyglot.refuses("translate", "other", "--from", "de", "--to", "fr")
    assert "target language: no decoder named 'fr'. Known: en" in message


@pytest.mark.parametrize(
    "arguments",
    [
        TRANSLATE,
        ("evaluate", "runs/mine", "--protocol", "small.yaml"),
        ("embed", "runs/mine", "train.de", "--language", "de", "--output", "vectors.npy"),
        ("similar", "runs/mine", "train.de", "train.en", "--from", "de", "--to", "en"),
        ("analyse", "runs/mine"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_device_is_passed_to_the_translator(arguments, folder, polyglot, monkeypatch):
    Path("small.yaml").write_text("pairs: [de-fr]\nmetrics: [chrf]\nresamples: 0\n")
    devices = []
    load = Translator.load.__func__

    def recording_load(cls, *positional, device, **settings):
        devices.append(device)
        return load(cls, *positional, device=device, **settings)

    monkeypatch.setattr(Translator, "load", classmethod(recording_load))
    message = polyglot.refuses(*arguments, "--device", "cuda:77", stdin="es regnet\n")
    assert "device: 'cuda:77' is not available on this machine; available: " in message
    assert "'cpu'" in message
    assert devices == ["cuda:77"]
    assert not Path("vectors.npy").exists()
    if arguments[0] != "analyse":  # it needs more text than the small run has
        assert polyglot(*arguments, "--device", "cpu", stdin="es regnet\n").status == 0


# Precision -------------------------------------------------------------------------------------


def test_an_available_precision_translates_and_others_are_refused(folder, polyglot, monkeypatch):
    expected = polyglot(*TRANSLATE, stdin=GERMAN).output
    assert polyglot(*TRANSLATE, "--precision", "float32", stdin=GERMAN).output == expected
    assert polyglot(*TRANSLATE, "--precision", "auto", stdin=GERMAN).status == 0

    monkeypatch.setattr(onednn, "HAS_INT8", False)
    monkeypatch.setattr(onednn, "HAS_BFLOAT16", False)
    for name in ("int8", "bf16"):
        errors = polyglot.refuses(*TRANSLATE, "--precision", name, stdin=GERMAN)
        assert f"has no fast products of {name}; available: float32" in " ".join(errors.split())
    assert polyglot(*TRANSLATE, "--precision", "auto", stdin=GERMAN).output == expected
    errors = polyglot.refuses(*TRANSLATE, "--precision", "int4", stdin=GERMAN)
    assert "no precision named 'int4'" in " ".join(errors.split())
