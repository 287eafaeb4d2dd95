"""Evaluation of a tiny untrained model: from the run directory to the saved matrix."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.data.corpora import PhrasebookCorpus, TextCorpus
from polyglot.evaluation import cache_keys, metrics, route_translation, tokenizers
from polyglot.evaluation.batched_translation import translate_directions
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.grid import matrix_title
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.provenance import describe_corpus
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from tests.evaluation.sacrebleu_command import run_sacrebleu
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator

GERMAN_FRENCH = LanguagePair("de", "fr")
GERMAN_ENGLISH = LanguagePair("de", "en")


RESAMPLES = 20
"""Bootstrap resamples, much fewer than by default, to save time."""


def protocol(**settings: object) -> Protocol:
    return Protocol.model_validate({"resamples": RESAMPLES, **settings})


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stop_at_french(error: type[BaseException]) -> Callable[[str, int, int], None]:
    """Progress function that raises the error when the translation into French starts."""

    def progress(work: str, finished: int, total: int) -> None:
        if work == "into fr":
            raise error

    return progress


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return tiny_run(tmp_path)


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Directions that are translated, without the pivot."""
    names: list[str] = []

    def record(translator, texts, directions, **settings):
        for text, target in directions:
            names.append(f"{texts[text].language}-{target}")
        return translate_directions(translator, texts, directions, **settings)

    monkeypatch.setattr(route_translation, "translate_directions", record)
    return names


def write_other_text(folder: Path) -> None:
    (folder / "other.de").write_text("das Kind liest\n", encoding="utf-8")
    (folder / "other.en").write_text("the child reads\n", encoding="utf-8")


# A whole evaluation


def test_all_directions_are_scored(run: Run) -> None:
    matrix = evaluate(run, tiny_translator(run), protocol())
    kinds: dict[str, set[str]] = {}
    for pair, cell in matrix.cells.items():
        kinds.setdefault(cell.kind, set()).add(str(pair))
        assert cell.sentences == 5
        assert cell.reason is None
        assert set(cell.scores) == {"bleu", "chrf"}
    assert kinds == {
        "supervised": {"en-de", "de-en", "en-fr", "fr-en"},
        "zero-shot": {"de-fr", "fr-de"},
        "copy": {"en-en", "de-de", "fr-fr"},
    }


def test_progress_counts_the_sentences_of_each_target(run: Run) -> None:
    calls = []
    evaluate(run, tiny_translator(run), protocol(), progress=lambda *call: calls.append(call))
    assert calls == [
        ("into en", 0, 45),
        ("into en", 15, 45),
        ("into de", 15, 45),
        ("into de", 30, 45),
        ("into fr", 30, 45),
        ("into fr", 45, 45),
    ]


def test_the_saved_matrix_is_complete(run: Run, tmp_path: Path) -> None:
    folder = run.evaluation / "default"
    matrix = evaluate(run, tiny_translator(run), protocol())
    matrix.save(folder)
    assert ScoreMatrix.load(folder) == matrix
    content = (folder / "matrix.json").read_text(encoding="utf-8")
    values = json.loads(content)
    assert values["checkpoint"]["steps"] == [7]
    assert values["search"]["beam"] == 2
    assert values["test"] == ["text test.{language}"]
    assert set(values["versions"]) >= {"polyglot", "torch", "sacrebleu"}
    assert str(tmp_path) not in content


def test_the_files_give_the_same_score_on_the_sacrebleu_command_line(
    run: Run, tmp_path: Path
) -> None:
    matrix = evaluate(run, tiny_translator(run), protocol(pairs=["de-fr"], metrics=["chrf"]))
    matrix.save(tmp_path / "out")
    arguments = ["test.fr", "-i", "out/hypotheses/de-fr.txt", "-m", "chrf"]
    expected = run_sacrebleu(tmp_path, *arguments)
    score = matrix.cells[GERMAN_FRENCH].scores["chrf"]
    assert score.value > 0
    assert score.value == pytest.approx(expected["score"], abs=1e-13)
    assert score.signature == expected["signature"]


def test_hypotheses_are_those_of_the_translator(run: Run) -> None:
    translator = tiny_translator(run)
    settings = protocol(pairs=["de-fr"], search={"beam": 3}, sentences=3)
    matrix = evaluate(run, translator, settings)
    expected = translator.translate(TEXT["de"][:3], source="de", target="fr", beam=3)
    assert matrix.hypotheses == {"de-fr": expected}
    assert matrix.search["beam"] == 3


@pytest.mark.parametrize(
    ("settings", "resamples"),
    [({"resamples": 0}, 0), ({"resamples": 20}, 20), ({}, 1000)],
)
def test_the_protocol_sets_the_number_of_resamples(
    run: Run, settings: dict[str, int], resamples: int
) -> None:
    settings = Protocol.model_validate({"pairs": ["de-fr"], "metrics": ["chrf"], **settings})
    matrix = evaluate(run, tiny_translator(run), settings)
    expected = Scorer(Measure("chrf"), target="fr").score(
        matrix.hypotheses["de-fr"], TEXT["fr"], resamples=resamples
    )
    assert matrix.cells[GERMAN_FRENCH].scores["chrf"] == expected
    assert (expected.interval is None) == (resamples == 0)


def test_the_protocol_sets_the_tokenizer(run: Run) -> None:
    settings = protocol(pairs=["de-fr"], metrics=["bleu"], tokenizer="char")
    matrix = evaluate(run, tiny_translator(run), settings)
    assert "tok:char" in matrix.cells[GERMAN_FRENCH].scores["bleu"].signature


# Test text


def test_a_language_without_text_has_empty_cells_with_the_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.fr").unlink()
    matrix = evaluate(run, tiny_translator(run), protocol())
    reasons = {str(pair): cell.reason for pair, cell in matrix.cells.items() if cell.reason}
    french_pairs = ["en-fr", "de-fr", "fr-en", "fr-de", "fr-fr"]
    assert reasons == dict.fromkeys(french_pairs, "no text in fr")
    assert set(matrix.means("bleu")) == {"supervised", "copy"}
    assert len(matrix.hypotheses) == 4


def test_no_text_at_all_is_an_error(run: Run) -> None:
    settings = protocol(test=[{"type": "text", "path": "none.{language}"}])
    with pytest.raises(DataError, match="test.*none.*no such file|none.{language}: nothing"):
        evaluate(run, tiny_translator(run), settings)


def test_a_run_without_test_corpora_is_an_error(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, data={"test": []})
    with pytest.raises(ConfigError, match="data.test names no corpus"):
        evaluate(run, tiny_translator(run), protocol())


def test_files_of_different_length_are_an_error_before_the_translation(
    run: Run, tmp_path: Path, translated: list[str]
) -> None:
    (tmp_path / "test.fr").write_text("un chien dort\n", encoding="utf-8")
    with pytest.raises(DataError, match="test.en has 5 lines, but .*test.fr has 1"):
        evaluate(run, tiny_translator(run), protocol())
    assert translated == []


def test_the_protocol_can_name_other_test_text(run: Run, tmp_path: Path) -> None:
    write_other_text(tmp_path)
    settings = protocol(test=[{"type": "text", "path": "other.{language}"}], pairs=["de-en"])
    matrix = evaluate(run, tiny_translator(run), settings)
    assert matrix.cells[GERMAN_ENGLISH].sentences == 1
    assert matrix.test == ["text other.{language}"]


def test_each_test_set_has_its_own_matrix(run: Run, tmp_path: Path) -> None:
    write_other_text(tmp_path)
    test_sets = {}
    for name in ("test", "other"):
        test_sets[name] = [{"type": "text", "path": f"{name}.{{language}}"}]
    settings = protocol(test_sets=test_sets, pairs=["de-en"], copies=False)
    sentences = {}
    for name in settings.corpora:
        matrix = evaluate(run, tiny_translator(run), settings, test_set=name)
        assert matrix.test_set == name
        sentences[name] = matrix.cells[GERMAN_ENGLISH].sentences
    assert sentences == {"test": 5, "other": 1}


def test_each_text_is_stored_once(run: Run) -> None:
    matrix = evaluate(run, tiny_translator(run), protocol(pivot="en"))
    languages = sorted(name.partition(".")[0] for name in matrix.texts)
    assert languages == ["de", "en", "fr"]
    cell = matrix.cells[GERMAN_FRENCH]
    assert matrix.texts[cell.source_text] == TEXT["de"]
    assert matrix.texts[cell.reference_text] == TEXT["fr"]


def test_corpora_are_described_without_folders() -> None:
    assert describe_corpus(PhrasebookCorpus.Config(split="test")) == "phrasebook test"
    corpus = TextCorpus.Config(path="/home/somebody/text.{language}.gz", weight=2.0)
    assert describe_corpus(corpus) == "text text.{language}.gz"


# Capitals


@pytest.mark.parametrize(
    ("condition", "measure", "counts_capitals"),
    [("cased", "chrf", True), ("lowercased", "chrf-lowercased", False)],
)
def test_capitals_count_unless_the_condition_ignores_them(
    run: Run, tmp_path: Path, condition: str, measure: str, counts_capitals: bool
) -> None:
    upper_case = "".join(f"{line.upper()}\n" for line in TEXT["en"])
    (tmp_path / "test.en").write_text(upper_case, encoding="utf-8")
    settings = protocol(conditions=[condition], pairs=["de-en"])
    matrix = evaluate(run, tiny_translator(run), settings)
    assert (matrix.means(measure)["supervised"] == 0) == counts_capitals


@pytest.mark.parametrize("pairs", ["de-en", "en-de"])
@pytest.mark.parametrize(
    ("step", "conditions", "is_warned"),
    [
        ("lowercase", ["cased"], True),
        ("lowercase", ["cased", "tokenised"], False),
        ("unicode", ["cased"], False),
    ],
)
def test_a_lower_case_run_that_is_scored_with_capitals_gives_a_warning(
    pairs, step, conditions, is_warned, tmp_path, caplog
) -> None:
    run = tiny_run(tmp_path, text={"languages": {"de": [step]}})
    evaluate(run, tiny_translator(run), protocol(conditions=conditions, pairs=pairs))
    has_warning = "the run writes de without capitals" in caplog.text
    assert has_warning == (is_warned and pairs == "en-de")


# Pivot translation


def test_pivot_translation_is_two_calls_of_translate(run: Run) -> None:
    translator = tiny_translator(run)
    matrix = evaluate(run, translator, protocol(pivot="en", search={"beam": 3}))
    names = {str(pair): cell.name for pair, cell in matrix.pivots.items()}
    assert names == {"de-fr": "de-en-fr", "fr-de": "fr-en-de"}
    assert {cell.kind for cell in matrix.pivots.values()} == {"pivot"}
    english = translator.translate(TEXT["de"], source="de", target="en", beam=3)
    expected = translator.translate(english, source="en", target="fr", beam=3)
    assert matrix.hypotheses["de-en-fr"] == expected
    assert matrix.hypotheses["de-en-fr"] != matrix.hypotheses["de-fr"]
    score = Scorer(Measure("chrf"), target="fr").score(expected, TEXT["fr"], resamples=RESAMPLES)
    assert matrix.pivots[GERMAN_FRENCH].scores["chrf"] == score


def test_the_first_step_of_a_pivot_translation_is_shared(run: Run, translated: list[str]) -> None:
    evaluate(run, tiny_translator(run), protocol(pivot="en", copies=False))
    assert translated.count("de-en") == 1
    assert translated.count("en-fr") == 2, "of the test text, and of the translated German text"


def test_a_first_step_without_its_own_cell_is_translated(run: Run, translated: list[str]) -> None:
    calls = []
    matrix = evaluate(
        run,
        tiny_translator(run),
        protocol(pivot="en", pairs=["de-fr"], copies=False),
        progress=lambda *call: calls.append(call),
    )
    assert [cell.name for cell in matrix.all_cells] == ["de-fr", "de-en-fr"]
    assert translated == ["de-fr", "de-en", "en-fr"]
    assert calls[-1] == ("into fr", 15, 15)


def test_a_pivot_without_components_is_an_error(run: Run) -> None:
    with pytest.raises(ConfigError, match="pivot: target language: no decoder named 'xx'"):
        evaluate(run, tiny_translator(run), protocol(pivot="xx"))


# Interruptions


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_keeps_finished_directions_and_the_earlier_matrix(
    error: type[BaseException], run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    evaluate(run, tiny_translator(run), protocol(sentences=2), folder=folder).save(folder)
    before = files_of(folder)
    complete = evaluate(run, tiny_translator(run), protocol())

    with pytest.raises(error):
        evaluate(
            run,
            tiny_translator(run),
            protocol(),
            folder=folder,
            progress=stop_at_french(error),
        )
    assert {path: path.read_bytes() for path in before} == before
    unfinished = {}
    for path in folder.glob(".unfinished/hypotheses/*"):
        unfinished[path.stem] = path.read_text(encoding="utf-8").splitlines()
    finished_pairs = [pair for pair in complete.cells if pair.target != "fr"]
    assert unfinished == {str(pair): complete.hypotheses[str(pair)] for pair in finished_pairs}

    matrix = evaluate(run, tiny_translator(run), protocol(), folder=folder)
    matrix.save(folder)
    assert ScoreMatrix.load(folder) == matrix
    assert not (folder / ".unfinished").exists()


def test_a_folder_that_cannot_be_written_is_an_error_before_the_translation(
    run: Run, tmp_path: Path, translated: list[str]
) -> None:
    (tmp_path / "out").write_text("a file in place of the folder")
    with pytest.raises(CheckpointError, match="out.*: the matrix cannot be written: "):
        evaluate(run, tiny_translator(run), protocol(), folder=tmp_path / "out")
    assert translated == []


# Use of earlier results


@dataclass
class Evaluations:
    """Evaluates a run repeatedly into one folder."""

    run: Run
    folder: Path
    translated: list[str] = field(default_factory=list)
    """directions that the last evaluation translated"""

    def evaluate(
        self, *, sha256: str | None = "a", precision: str | None = None, **settings: object
    ) -> ScoreMatrix:
        """Evaluate and save. sha256: hash of the parameters; settings: of the protocol."""
        self.translated.clear()
        translator = tiny_translator(self.run, sha256=sha256)
        if precision:
            translator.description = {**translator.description, "precision": precision}
        settings = {"pivot": "en", **settings}
        matrix = evaluate(self.run, translator, protocol(**settings), folder=self.folder)
        matrix.save(self.folder)
        return matrix

    def interrupt(self, *, sha256: str) -> None:
        """Evaluate until the translation into French starts."""
        translator = tiny_translator(self.run, sha256=sha256)
        with pytest.raises(KeyboardInterrupt):
            evaluate(
                self.run,
                translator,
                protocol(pivot="en"),
                folder=self.folder,
                progress=stop_at_french(KeyboardInterrupt),
            )


@pytest.fixture
def evaluations(run: Run, tmp_path: Path, translated: list[str]) -> Evaluations:
    return Evaluations(run, tmp_path / "out", translated)


def test_earlier_results_are_not_computed_again(
    evaluations: Evaluations, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = evaluations.evaluate()
    assert len(evaluations.translated) == 9 + 2
    monkeypatch.setattr(Scorer, "score", lambda *args, **kwargs: pytest.fail("scored again"))
    assert evaluations.evaluate() == before
    assert evaluations.translated == []
    assert ScoreMatrix.load(evaluations.folder) == before


def test_another_metric_is_scored_without_translation(evaluations: Evaluations) -> None:
    before = evaluations.evaluate()
    after = evaluations.evaluate(metrics=["ter"])
    assert evaluations.translated == []
    assert set(after.cells[GERMAN_FRENCH].scores) == {"ter"}
    assert after.hypotheses == before.hypotheses
    seconds = [cell.seconds for cell in before.all_cells]
    assert [cell.seconds for cell in after.all_cells] == seconds


@pytest.mark.parametrize(
    "settings", [{"resamples": 5}, {"tokenizer": "char"}, {"conditions": ["lowercased"]}]
)
def test_other_score_settings_are_scored_without_translation(
    settings: dict, evaluations: Evaluations, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluations.evaluate()
    scored = []
    score = Scorer.score

    def record(scorer: Scorer, *args: object, **kwargs: object) -> object:
        scored.append(scorer)
        return score(scorer, *args, **kwargs)

    monkeypatch.setattr(Scorer, "score", record)
    matrix = evaluations.evaluate(**settings)
    assert evaluations.translated == []
    assert len(scored) == len(matrix.all_cells) * len(matrix.measures)


@pytest.mark.parametrize(
    "settings",
    [
        {"sha256": "b"},
        {"search": {"beam": 1}},
        {"sentences": 2},
    ],
)
def test_a_change_of_parameters_search_or_text_translates_again(
    settings: dict, evaluations: Evaluations
) -> None:
    evaluations.evaluate()
    evaluations.evaluate(**settings)
    assert len(evaluations.translated) == 11


def test_parameters_without_hash_are_always_translated_again(evaluations: Evaluations) -> None:
    evaluations.evaluate(sha256=None)
    evaluations.evaluate(sha256=None)
    assert len(evaluations.translated) == 11


def test_scores_of_another_precision_are_not_reused(evaluations: Evaluations) -> None:
    exact = evaluations.evaluate()
    rounded = evaluations.evaluate(precision="int8")
    assert len(evaluations.translated) == 11
    assert "int8" not in matrix_title(exact)
    assert "int8" in matrix_title(rounded)
    evaluations.evaluate(precision="int8")
    assert evaluations.translated == []


@pytest.mark.parametrize(
    ("file", "content"),
    [("hypotheses/de-fr.txt", "changed by hand\n" * 5), ("cells/de-fr.json", "{")],
)
def test_a_changed_or_damaged_direction_is_translated_again(
    file: str, content: str, evaluations: Evaluations
) -> None:
    evaluations.evaluate()
    (evaluations.folder / file).write_text(content)
    evaluations.evaluate()
    assert evaluations.translated == ["de-fr"]


@pytest.mark.parametrize("provenance", [{}, "a machine", {"machine": "a"}])
def test_a_direction_without_provenance_is_translated_again(
    provenance, evaluations: Evaluations
) -> None:
    evaluations.evaluate()
    cell = evaluations.folder / "cells" / "de-fr.json"
    cell.write_text(json.dumps(json.loads(cell.read_text()) | {"made_with": provenance}))
    evaluations.evaluate()
    assert evaluations.translated == ["de-fr"]


def change_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "polyglot.evaluation.provenance.describe_machine"
    monkeypatch.setattr(name, lambda device: "another machine")


def test_earlier_translations_keep_their_machine_and_versions(
    evaluations: Evaluations, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = evaluations.evaluate()
    change_machine(monkeypatch)
    monkeypatch.setattr("torch.__version__", "99.0")
    after = evaluations.evaluate(metrics=["ter"])
    assert evaluations.translated == []
    assert after.machine == before.machine
    assert after.versions == before.versions


def test_translations_of_two_machines_have_both(
    evaluations: Evaluations, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = evaluations.evaluate()
    change_machine(monkeypatch)
    monkeypatch.setattr("torch.__version__", "99.0")
    (evaluations.folder / "cells" / "de-fr.json").unlink()
    mixed = evaluations.evaluate()
    assert evaluations.translated == ["de-fr"]
    assert mixed.machine == f"{before.machine}; another machine"
    torch_versions = f"{before.versions['torch']}; 99.0"
    assert mixed.versions == before.versions | {"torch": torch_versions}


def test_a_pivot_translation_has_the_machines_of_both_steps(
    evaluations: Evaluations, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = evaluations.evaluate()
    change_machine(monkeypatch)
    cell = evaluations.folder / "cells" / "de-en-fr.json"
    cell.unlink()
    evaluations.evaluate()
    provenance = json.loads(cell.read_text())["made_with"]
    assert provenance["machine"] == f"{before.machine}; another machine"


def test_an_interrupted_evaluation_does_not_change_another_matrix(
    evaluations: Evaluations,
) -> None:
    before = evaluations.evaluate()
    cells = files_of(evaluations.folder / "cells")
    evaluations.interrupt(sha256="b")
    assert evaluations.evaluate() == before
    assert evaluations.translated == []
    assert files_of(evaluations.folder / "cells") == cells


def test_an_interrupted_evaluation_continues(evaluations: Evaluations, tmp_path: Path) -> None:
    complete = evaluations.evaluate()
    evaluations.folder = tmp_path / "interrupted"
    evaluations.interrupt(sha256="a")
    matrix = evaluations.evaluate()
    into_french = ["en-fr", "de-fr", "fr-fr"]
    second_steps = ["en-fr", "en-de"]
    assert evaluations.translated == into_french + second_steps
    scores = {cell.name: cell.scores for cell in complete.all_cells}
    assert {cell.name: cell.scores for cell in matrix.all_cells} == scores


# Tokenizers


def test_missing_tokenizer_leaves_all_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Scores with the fallback are computed again when the tokenizer is there."""
    fallback = tokenizers.Tokenizer("char", wanted="ja-mecab", reason="not installed")
    available = tokenizers.Tokenizer("13a")
    monkeypatch.setitem(TEXT, "ja", TEXT["fr"])
    run = tiny_run(tmp_path, languages=["en", "ja"])
    folder = tmp_path / "matrix"
    signatures = []
    for tokenizer in (fallback, fallback, available):
        for module in (metrics, cache_keys):
            monkeypatch.setattr(module, "find_tokenizer", lambda name: tokenizer)
        translator = tiny_translator(run, sha256="a")
        matrix = evaluate(run, translator, protocol(resamples=0), folder=folder)
        matrix.save(folder)
        scores = matrix.cells[LanguagePair("en", "ja")].scores
        assert scores.keys() == {"bleu", "chrf"}
        signatures.append(scores["bleu"].signature)
    assert ["tok:char" in signature for signature in signatures] == [True, True, False]
    message = "scores into en, ja use the tokenizer 'char' in place of 'ja-mecab': not installed"
    assert caplog.messages.count(message) == 2
