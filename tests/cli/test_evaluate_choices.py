"""`polyglot evaluate` with other metrics, texts, beams and places; `compare` with other
programs.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.error import URLError

import pytest

from polyglot.evaluation import tokenizers
from polyglot.inference.translator import Translator
from tests.builders.command_line import TEXT, write_text

EVALUATION = Path("runs/mine/evaluation")
PAIR = ("--test", "de-en=other/news.de,other/news.en")


@pytest.fixture
def fast(folder, monkeypatch) -> Path:
    """The folder with a protocol of two directions, as the default of this test."""
    Path("fast.yaml").write_text("pairs: [de-en, de-fr]\ncopies: false\nresamples: 0\n")
    (folder / "other").mkdir()
    news = {language: lines[:3] for language, lines in TEXT.items()}
    write_text(folder / "other", news, part="news")
    return folder


def evaluate(polyglot, *options):
    result = polyglot("evaluate", "runs/mine", "--protocol", "fast.yaml", *options)
    assert result.status == 0, result.errors
    return result


def matrix(folder: Path | str):
    return json.loads((EVALUATION / folder / "matrix.json").read_text())


# Metrics and beam


@pytest.fixture
def no_download(monkeypatch):
    """sacreBLEU without a network; without this, the model of flores200 would be downloaded."""
    bleu = tokenizers.BLEU

    def bleu_without_download(*, tokenize: str):
        if tokenize == "flores200":
            raise URLError(OSError(-2, "Name or service not known"))
        return bleu(tokenize=tokenize)

    tokenizers.find_tokenizer.cache_clear()
    monkeypatch.setattr(tokenizers, "BLEU", bleu_without_download)
    yield
    tokenizers.find_tokenizer.cache_clear()


def test_a_tokenizer_that_cannot_be_downloaded_is_replaced_and_reported(
    fast, polyglot, no_download
):
    """The message comes before the results; the signature has the fallback."""
    with Path("fast.yaml").open("a") as file:
        file.write("tokenizer: flores200\n")
    result = evaluate(polyglot)
    assert (
        "scores into en, fr use the tokenizer 'char' in place of 'flores200': "
        "sacreBLEU downloads its model at the first use, and that failed"
    ) in " ".join(result.errors.split())
    assert result.errors.index("flores200") < result.errors.index("written to")
    assert "tok:char" in result.output
    assert "tok:flores200" not in result.output


def test_other_metrics_use_the_same_translations(fast, polyglot, monkeypatch):
    evaluate(polyglot)

    def translate(*arguments, **options):
        raise AssertionError("translates again")

    monkeypatch.setattr(Translator, "translate_encoded", translate, raising=False)
    monkeypatch.setattr(Translator, "hypotheses", translate)
    result = evaluate(polyglot, "--metrics", "TER,chrF2++", "--metrics", "bleu")
    assert "TER · mine" in result.output
    cell = matrix("fast+ter+chrf+++bleu")["cells"][0]
    assert list(cell["scores"]) == ["ter", "chrf++", "bleu"]
    before = matrix("fast")["cells"][0]["scores"]
    assert cell["scores"]["bleu"] == before["bleu"]
    assert list(before) == ["bleu", "chrf"]


def test_another_beam_has_its_own_folder(fast, polyglot):
    evaluate(polyglot, "--beam", "1")
    assert matrix("fast+beam-1")["search"]["beam"] == 1


# Text


def test_text_of_the_run_by_name(fast, polyglot):
    evaluate(polyglot, "--test", "valid", "--test", "test")
    assert [cell["sentences"] for cell in matrix("fast+valid")["cells"]] == [5, 5]
    assert matrix("fast+test")["test_set"] == "test"


def test_two_files_are_one_direction(fast, polyglot):
    evaluate(polyglot, *PAIR)
    [cell] = matrix("fast+news")["cells"]
    assert (cell["pair"], cell["sentences"]) == ("de-en", 3)


def test_two_files_may_name_the_languages_in_another_spelling(fast, polyglot):
    evaluate(polyglot, "--test", "deu-eng_Latn=other/news.de,other/news.en")
    [cell] = matrix("fast+news.de")["cells"]
    assert (cell["pair"], cell["sentences"]) == ("de-en", 3)


def test_a_file_for_each_language(fast, polyglot):
    evaluate(polyglot, "--test", "other/news.{language}")
    assert [cell["pair"] for cell in matrix("fast+news")["cells"]] == ["de-en", "de-fr"]


def test_a_test_set_of_the_protocol(fast, polyglot):
    corpus = '[{type: text, path: "train.{language}"}]'
    Path("fast.yaml").write_text(
        f"pairs: [de-en]\ncopies: false\nresamples: 0\ntest_sets: {{a: {corpus}, b: {corpus}}}\n"
    )
    evaluate(polyglot, "--test", "b")
    assert matrix("fast/b")["test_set"] == "b"
    assert not (EVALUATION / "fast" / "a").exists()


# Place


def test_results_in_another_folder(fast, polyglot):
    result = evaluate(polyglot, "--output", "results")
    assert "written to results: matrix.json" in result.errors
    assert Path("results/hypotheses/de-en.txt").exists()
    assert not EVALUATION.exists()
    evaluate(polyglot, "--output", "results")  # earlier results may be replaced

    evaluate(polyglot, "--output", "greedy", "--beam", "1")
    compared = polyglot("compare", "results", "greedy")
    assert compared.status == 0, compared.errors
    assert "* differs from results" in " ".join(compared.output.split())


def test_a_matrix_in_a_file(fast, polyglot):
    evaluate(polyglot, "--output", "scores.csv")
    assert Path("scores.csv").read_bytes() == (EVALUATION / "fast/matrix.csv").read_bytes()
    evaluate(polyglot, "--output", "scores.json")
    assert json.loads(Path("scores.json").read_text()) == matrix("fast")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metrics", "bleurt"), "--metrics: no metric named 'bleurt'. Did you mean 'bleu'?"),
        (("--metrics", ""), "--metrics: no metric named ''."),
        (("--metrics", "comet"), "--metrics: comet needs the file of a model; add --comet FILE"),
        (("--metrics", "comet", "--comet", "no.ckpt"), "comet: no.ckpt: no such file"),
        (("--beam", "0"), "should be greater than or equal to 1"),
        (("--test", "tst"), "--test: no test set named 'tst'. Did you mean 'test'?"),
        (("--test", "train.de"), "--test: train.de is a file, but its languages are unknown"),
        (("--test", "de-en=train.de"), "write a pair with its source file and its target file"),
        (("--test", "de=a,b"), "--test: 'de' is no language pair"),
        (("--test", "de-en=no.de,no.en"), "no.de: no such file"),
        (("--test", "de-xx=train.de,train.en"), "target language: no decoder named 'xx'"),
        (("--test", "no.{language}"), "no.{language}: nothing for any of en, de, fr"),
        ((*PAIR, *PAIR), "--test: two test sets are called news"),
        (("--output", "."), "--output: .: has other files"),
        (("--output", "train.de"), "--output: train.de: a file ends in one of .json, .csv, .md"),
        (("--output", "a.txt"), "--output: a.txt: a file ends in one of .json, .csv, .md"),
        (("--output", "no/a.csv"), "--output: no: no such folder"),
        (
            ("--output", "a.csv", "--test", "test", "--test", "valid"),
            "a file holds one matrix, and there are 2",
        ),
    ],
)
def test_choices_that_cannot_be_meant(options, message, fast, polyglot):
    arguments = ("evaluate", "runs/mine", "--protocol", "fast.yaml", *options)
    errors = " ".join(polyglot.refuses(*arguments).split())
    assert message in errors.replace(" │ │ ", " ")
    assert not list(Path().glob("**/matrix.json"))


# Outputs of other programs


@pytest.fixture(scope="module")
def shared_results(tmp_path_factory) -> Path:
    """Folder for a copy of the results of `fast.yaml`."""
    return tmp_path_factory.mktemp("results") / "evaluation"


@pytest.fixture
def evaluated(fast, polyglot, shared_results) -> Path:
    """The folder with results of `fast.yaml`. The first test evaluates, the others copy."""
    if shared_results.exists():
        shutil.copytree(shared_results, EVALUATION, dirs_exist_ok=True)
    else:
        evaluate(polyglot)
        shutil.copytree(EVALUATION, shared_results)
    return fast


def compare(polyglot, *arguments):
    return polyglot("compare", *arguments, "--protocol", "fast")


def test_an_output_beside_runs(evaluated, polyglot):
    (evaluated / "perfect.fr").write_text("".join(f"{line}\n" for line in TEXT["fr"]))
    result = compare(polyglot, "runs/mine", "perfect.fr", "--pair", "de-fr")
    assert result.status == 0, result.errors
    assert "100.0" in result.output
    assert "perfect.fr: output of another program" in result.errors
    assert "paired bootstrap" in result.output
    assert "BLEU|nrefs:1" in " ".join(result.output.split())
    assert "de-en" not in result.output


def test_the_output_of_the_run_itself_has_its_score(evaluated, polyglot):
    result = compare(polyglot, "runs/mine", EVALUATION / "fast/hypotheses")
    assert result.status == 0, result.errors
    for name in ("de-en", "de-fr"):
        [row] = [line for line in result.output.splitlines() if line.strip().startswith(name)]
        mine, other = row.split()[1:3]
        assert mine == other
    assert "hypotheses" in result.output


def test_the_direction_in_the_name_of_a_file(evaluated, polyglot):
    hypotheses = (EVALUATION / "fast/hypotheses/de-en.txt").read_text()
    (evaluated / "moses.deu-eng.txt").write_text(hypotheses)
    result = compare(polyglot, "moses.deu-eng.txt", "runs/mine", "--measure", "chrf")
    assert result.status == 0, result.errors
    assert "* differs from moses.deu-eng.txt" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (
            "un chien dort\n",
            ("--pair", "de-fr"),
            "out.txt: has 1 line, but the references of de-fr have 5",
        ),
        ("", ("--pair", "de-fr"), "out.txt: has 0 lines, but the references of de-fr have 5"),
        ("x\n", (), "out.txt: the direction is unknown. Name it with --pair, such as --pair de-en"),
        ("x\n", ("--pair", "fr-de"), "--pair: no direction named 'fr-de'. Known: de-en, de-fr"),
        ("x\n", ("--measure", "ter"), "--measure: no measure named 'ter'. Known: bleu, chrf"),
        (b"\xff\n", ("--pair", "de-fr"), "out.txt, line 1: not UTF-8"),
    ],
)
def test_outputs_that_cannot_be_compared(content, arguments, message, evaluated, polyglot):
    content = content if isinstance(content, bytes) else content.encode()
    Path("out.txt").write_bytes(content)
    options = ("--protocol", "fast", *arguments)
    assert message in polyglot.refuses("compare", "runs/mine", "out.txt", *options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train.en", "train.de"), "compare needs an evaluated run: its references"),
        (("runs/mine", "nothing.txt"), "nothing.txt: no such file"),
        (("runs/mine", "other"), "other: no run directory: it has no config.yaml"),
        (("runs/mine", "texts"), "texts: no file is named like a direction of the run"),
    ],
)
def test_comparisons_that_cannot_be_meant(arguments, message, evaluated, polyglot):
    (evaluated / "texts").mkdir()
    (evaluated / "texts/notes.txt").write_text("x\n")
    options = ("--protocol", "fast")
    assert message in polyglot.refuses("compare", *arguments, *options)


def test_scores_of_another_signature_are_not_compared(evaluated, polyglot, monkeypatch):
    monkeypatch.setattr("sacrebleu.metrics.bleu.BLEUSignature.__str__", lambda self: "BLEU|other")
    hypotheses = EVALUATION / "fast/hypotheses"
    message = polyglot.refuses("compare", "runs/mine", hypotheses, "--protocol", "fast")
    assert "de-en.txt: would be scored with BLEU|other, but the run was scored with" in message
