"""A run directory describes itself: it is never overwritten, can be moved, and has one trainer
at a time.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
from dataclasses import replace

import pytest

from polyglot.config.loading import check_config
from polyglot.core import atomic_files
from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.core.yaml import dump_yaml, read_yaml
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.runs.vocabulary_files import write_checksums
from tests.builders.runs import tiny_run, tiny_settings, train


def test_it_has_its_configuration_with_every_default(tmp_path):
    run = tiny_run(tmp_path)
    assert Run.open(run.path).config == run.config
    assert "\nsearch:\n" in (run.path / "config.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", ["config.yaml", "notes.txt", "checkpoints/"])
def test_a_directory_that_holds_something_is_refused_and_stays(content, tmp_path):
    (tmp_path / "run").mkdir()
    if content.endswith("/"):
        (tmp_path / "run" / content).mkdir()
    else:
        (tmp_path / "run" / content).write_text("mine")
    sentence = (
        "continue it with `polyglot train .*run --resume`, choose"
        if content == "config.yaml"
        else "but is not a run; choose"
    )
    with pytest.raises(
        CheckpointError, match=f"run: exists[;,] {sentence} another with run=…, or remove it"
    ):
        tiny_run(tmp_path)
    assert [path.name for path in (tmp_path / "run").iterdir()] == [content.rstrip("/")]


def test_a_full_disk_leaves_nothing_of_a_new_run(tmp_path, monkeypatch):
    """The next attempt finds nothing in its way."""

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(atomic_files, "write_synced", full)
        with pytest.raises(
            CheckpointError, match="settings.json: cannot be written: No space left on device"
        ):
            tiny_run(tmp_path)
    assert not (tmp_path / "run").exists()
    assert tiny_run(tmp_path).config


def test_an_empty_directory_is_as_good_as_none(tmp_path):
    (tmp_path / "run").mkdir()
    assert tiny_run(tmp_path).config


def test_a_configuration_that_names_no_place_is_a_sentence(tmp_path):
    config = tiny_run(tmp_path).config.model_copy(update={"run": None})
    for make in (Run.create, Run.for_config):
        with pytest.raises(
            ConfigError, match="^run: the configuration names no run directory, such as 'runs/mine'"
        ):
            make(config)


def test_a_file_of_that_name_is_refused(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(CheckpointError, match="run: is a file, and a run is a folder"):
        tiny_run(tmp_path)
    assert (tmp_path / "run").read_text() == "a file"


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        CheckpointError, match="run: the run directory cannot be written: Not a directory"
    ):
        Run.create(check_config(tiny_settings(tmp_path, "file/run"), where="tiny"))


def test_no_run_there(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(
            ConfigError, match="no run directory: (it has no config.yaml|it does not exist)"
        ):
            Run.open(path)


def test_a_damaged_configuration_is_a_sentence(tmp_path):
    run = tiny_run(tmp_path)
    (run.path / "config.yaml").write_text("languages: [en\n")
    with pytest.raises(ConfigError, match=r"run/config.yaml: line 2: no valid YAML"):
        Run.open(run.path)
    (run.path / "config.yaml").write_text("languages: [en]\n")
    with pytest.raises(ConfigError, match=r"run/config.yaml: 3 problems"):
        Run.open(run.path)


def test_it_can_be_moved(tmp_path):
    """And translates without the corpus it was trained on."""
    (tmp_path / "here").mkdir()
    run = tiny_run(tmp_path / "here")
    train(run)
    before = Translator.load(run.path).translate(["ein Hund"], source="de", target="fr")
    shutil.move(run.path, tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    assert (
        Translator.load(tmp_path / "elsewhere").translate(["ein Hund"], source="de", target="fr")
        == before
    )


def lock(path, answers, go_on):
    try:
        with Run.open(path).lock():
            answers.put("locked")
            go_on.wait(30)
    except CheckpointError as error:
        answers.put(str(error))


def test_one_process_trains_it_at_a_time(tmp_path):
    run = tiny_run(tmp_path)
    fork = multiprocessing.get_context("fork")
    answers, go_on = fork.Queue(), fork.Event()
    with run.lock():
        other = fork.Process(target=lock, args=(run.path, answers, go_on))
        other.start()
        message = f"{run.path}: another process is training this run (process {os.getpid()}: "
        assert answers.get(timeout=30).startswith(message)
        other.join()
    other = fork.Process(target=lock, args=(run.path, answers, go_on))
    other.start()
    assert answers.get(timeout=30) == "locked"
    with pytest.raises(CheckpointError, match="another process is training this run"), run.lock():
        pass
    other.kill()  # whoever dies leaves no lock behind
    other.join()
    with run.lock():
        pass


def test_a_lock_that_cannot_be_made_is_a_sentence(tmp_path):
    run = tiny_run(tmp_path)
    (run.path / ".lock").mkdir()
    with (
        pytest.raises(CheckpointError, match="run: the folder cannot be written: it is not a reg"),
        run.lock(),
    ):
        pass


def test_a_changed_configuration_is_kept_once_it_is_written(tmp_path):
    run = tiny_run(tmp_path)
    changed = Run.open_with_overrides(run.path, ["training.steps=99", "schedule.type=round_robin"])
    assert Run.open(run.path).config == run.config
    changed.write_config()
    assert Run.open(run.path).config == changed.config and changed.config.training.steps == 99
    assert changed.path == run.path


def test_where_a_run_is_does_not_change(tmp_path):
    """Not by an override; moving its directory is all it takes, and what its configuration says
    of it counts no longer.
    """
    run = tiny_run(tmp_path)
    with pytest.raises(
        ConfigError, match=f"run: 'elsewhere'; the run stays where it is, in {run.path}"
    ):
        Run.open_with_overrides(run.path, ["run=elsewhere"])
    shutil.move(run.path, tmp_path / "moved")
    assert (
        Run.open_with_overrides(tmp_path / "moved", [f"run={run.path}", "training.steps=7"]).path
        == tmp_path / "moved"
    )


def test_a_change_that_is_wrong_leaves_it_as_it_was(tmp_path):
    run = tiny_run(tmp_path)
    before = (run.path / "config.yaml").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="training.stepz: no key named 'stepz'"):
        Run.open_with_overrides(run.path, ["training.stepz=99"])
    assert (run.path / "config.yaml").read_text(encoding="utf-8") == before


def test_before_anything_was_built_everything_may_change(tmp_path):
    run = tiny_run(tmp_path)
    with pytest.raises(ConfigError, match="model.bridge.heads: found 'many'") as error:
        Run.open_with_overrides(run.path, ["model.bridge.heads=many", "vocabulary.size=50"])
    assert "cannot change" not in str(error.value)
    changed = Run.open_with_overrides(run.path, ["model.bridge.heads=2", "vocabulary.size=50"])
    assert changed.config.model.bridge.heads == 2
    train(changed)
    changed.write_config()
    with pytest.raises(
        ConfigError,
        match="cannot change: model.bridge.heads was 2, vocabulary.size was 50; leave them out",
    ):
        Run.open_with_overrides(run.path, ["model.bridge.heads=3", "vocabulary.size=60"])

    # Beside a wrong setting, every setting that cannot change is named, even with a wrong value.
    wrong = ["vocabulary.size=-1", "training.stepz=9", "model.bridge.heads=3"]
    with pytest.raises(ConfigError) as error:
        Run.open_with_overrides(run.path, wrong)
    refused = [problem.key for problem in error.value.problems if "cannot change" in str(problem)]
    assert refused == ["vocabulary.size", "model.bridge.heads"]
    assert "training.stepz: no key named 'stepz'" in str(error.value)


@pytest.mark.parametrize("error", [CheckpointError, KeyboardInterrupt])
def test_a_start_that_fails_does_not_stand_in_the_way_of_the_next(error, tmp_path):
    run = tiny_run(tmp_path)
    with pytest.raises(error), run.lock(), run.remove_on_error():
        (run.path / "vocabulary" / "en.model").write_bytes(b"half")
        raise error
    assert not run.path.exists()
    train(tiny_run(tmp_path))


def test_a_checkpoint_agrees_with_all_that_components_are_built_from(tmp_path):
    run = tiny_run(tmp_path)
    train(run)
    known = json.loads(json.dumps(run.built_from))

    def differences(**sections):
        return Run(
            run.path, check_config(tiny_settings(tmp_path, **sections), where="tiny")
        ).differences(known)

    assert differences() == []
    for same in (
        {"training": {"steps": 9}},
        {"optimizer": {"type": "sgd"}},
        {"schedule": {"copy_weight": 2.0}},
        {"seed": 5},
        {"search": {"beam": 9}},
    ):
        assert differences(**same) == []
    for steps in (
        {"steps": ["lowercase"]},
        {"languages": {"de": ["lowercase"]}},
        {"steps": [{"type": "unicode", "form": "NFKC"}]},
    ):
        assert "vocabularies.de" in differences(text=steps)
    assert differences(model={"bridge": {"heads": 2}}) == ["model.bridge.heads"]
    assert differences(schedule={"pairs": ["de-en"]}) == ["pairs"]
    assert differences(model={"languages": {"de": {"encoder": "gru"}}})
    shutil.copy(run.vocabulary_file("fr"), run.vocabulary_file("de"))
    write_checksums(run.vocabulary_folder)
    assert differences() == ["vocabularies.de"]


def test_settings_that_are_newer_than_a_checkpoint_are_at_their_defaults(tmp_path):
    """As long as the run has them there, too; a setting that is gone is another configuration."""
    run = tiny_run(tmp_path, model={"embedding": {"dropout": 0.5}})
    train(run)
    older = json.loads(json.dumps(run.built_from))
    del older["model"]["embedding"]["scale"], older["model"]["decoder"]["input_feeding"]
    assert run.differences(older) == []
    feeding = check_config(
        tiny_settings(
            tmp_path, model={"embedding": {"dropout": 0.5}, "decoder": {"input_feeding": True}}
        ),
        where="tiny",
    )
    assert Run(run.path, feeding).differences(older) == ["model.decoder.input_feeding"]
    del older["model"]["embedding"]["dropout"]
    assert run.differences(older) == ["model.embedding.dropout"]
    known = json.loads(json.dumps(run.built_from))
    known["model"]["encoder"]["gone"] = 3
    assert run.differences(known) == ["model.encoder.gone"]
    for nonsense in (None, [], 3, {}, {"model": 3}):
        assert run.differences(nonsense)


def test_a_hash_of_it_all_as_first_checkpoints_have_it(tmp_path):
    """Of the settings that there were: those that `config.yaml` names."""
    run = tiny_run(tmp_path)
    train(run)
    values = read_yaml(run.path / "config.yaml")
    del values["model"]["embedding"]["scale"]
    (run.path / "config.yaml").write_text(dump_yaml(values))
    built = {**run.built_from, "model": values["model"]}
    stored = hashlib.sha256(json.dumps(built, sort_keys=True).encode()).hexdigest()
    assert Run.open(run.path).differences(stored) == [] and Run.open(run.path).differences(
        "abc"
    ) == ["model, pairs or vocabularies"]
    values["model"]["bridge"]["heads"] += 1
    (run.path / "config.yaml").write_text(dump_yaml(values))
    assert Run.open(run.path, accept_changes=True).differences(stored)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (
            {"model": {"encoder": {"size": 10}}},
            r"the model: .* of encoder.(de|en|fr) has shape .*, here ",
        ),
        (
            {"model": {"encoder": {"type": "transformer"}}},
            "the model: only one of the two has .* in encoder.(de|en|fr)",
        ),
        (
            {"vocabulary": {"size": 8}},
            r"the vocabularies: embedding.* of encoder.(de|en|fr) has shape \(8, 12\), here ",
        ),
        (
            {"schedule": {"pairs": ["de-en"]}},
            (
                "the pairs, or the sharing of components: only one of the two has decoder.de, "
                "decoder.fr, "
            ),
        ),
        ({"schedule": {"copies": True}}, "not visible in the parameters: the pairs"),
    ],
)
def test_what_differs_in_a_checkpoint_with_a_hash_is_told_by_its_parameters(
    other, sentence, tmp_path
):
    run, another = tiny_run(tmp_path), tiny_run(tmp_path, "another", **other)
    train(run)
    train(another)
    [there] = checkpoints.choose(another.checkpoints, "last")
    first = replace(there, manifest={**there.manifest, "configuration": "of the first kind"})
    with pytest.raises(
        CheckpointError,
        match=f"comes from another configuration than .*config.yaml; different: {sentence}",
    ):
        run.check_compatible(first)
    run.vocabulary_file("de").unlink()
    with pytest.raises(CheckpointError, match="different: the vocabularies: there is none of de$"):
        Run.open(run.path).check_compatible(first)


def test_another_vocabulary_is_noticed(tmp_path):
    run = tiny_run(tmp_path)
    train(run)
    shutil.copy(run.vocabulary_file("fr"), run.vocabulary_file("de"))
    with pytest.raises(CheckpointError, match="de.model: damaged: its SHA-256 is .*checksums.json"):
        Translator.load(run.path)
    (run.vocabulary_folder / "checksums.json").unlink()
    with pytest.raises(
        CheckpointError, match="step-00000006: comes from another configuration than .*config.yaml"
    ):
        Translator.load(run.path)


def test_a_damaged_vocabulary_is_a_sentence(tmp_path):
    run = tiny_run(tmp_path)
    train(run)
    run.vocabulary_file("de").write_bytes(b"\0damaged")
    with pytest.raises(CheckpointError, match="de.model: damaged: its SHA-256 is .*checksums.json"):
        Translator.load(run.path)
    (run.vocabulary_folder / "checksums.json").unlink()  # a run of an older version
    with pytest.raises(
        CheckpointError,
        match="de.model: not a SentencePiece model; the file is damaged or has another format",
    ):
        Translator.load(run.path)


def test_components_of_a_checkpoint_are_files_of_their_own(tmp_path):
    run = tiny_run(
        tmp_path, schedule={"pairs": ["de-en", "en-fr"]}, model={"embedding": {"tie_sides": True}}
    )
    train(run)
    checkpoint = checkpoints.choose(run.checkpoints, "last")[0]
    parts = {
        "bridge",
        "encoder.de",
        "encoder.en",
        "decoder.en",
        "decoder.fr",
        "embedding.de",
        "embedding.en",
        "embedding.fr",
        "training",
    }
    assert {path.stem for path in checkpoint.path.glob("*.safetensors")} == parts


# Concurrent creation


@pytest.fixture
def new_config(tmp_path):
    return check_config(tiny_settings(tmp_path, "new"), where="tiny")


def test_run_that_another_process_creates_is_refused_and_stays(new_config, monkeypatch):
    """The second process has looked at the empty folder before the first one wrote to it."""
    check_new = Run.check_new
    created = []

    def create_after_check(run):
        check_new(run)
        if not created:
            created.append("by the first process")
            Run.create(new_config)

    monkeypatch.setattr(Run, "check_new", create_after_check)
    with pytest.raises(CheckpointError, match="exists; continue it with"):
        Run.create(new_config)
    assert Run.open(new_config.run).config == new_config


def test_run_is_not_created_while_another_process_holds_its_lock(new_config):
    run = Run.for_config(new_config)
    run.path.mkdir(parents=True)
    with run.lock(), pytest.raises(CheckpointError, match="another process"):
        Run.create(new_config)
    assert not run.config_file.exists()


def test_folder_of_a_process_that_was_killed_while_creating_is_used_again(new_config):
    run = Run.for_config(new_config)
    (run.path / "vocabulary").mkdir(parents=True)
    (run.path / ".lock").touch()
    (run.path / ".0123456789abcdef.writing").write_text("langua")
    assert Run.create(new_config).config_file.exists()


def test_error_removes_a_new_folder_and_empties_an_existing_folder(new_config):
    def fail_in_new_run():
        run = Run.create(new_config)
        with run.lock(), run.remove_on_error():
            (run.path / "file").touch()
            raise ValueError

    path = Run.for_config(new_config).path
    with pytest.raises(ValueError):
        fail_in_new_run()
    assert not path.exists()

    path.mkdir()
    with pytest.raises(ValueError):
        fail_in_new_run()
    assert list(path.iterdir()) == []


def test_lock_does_not_follow_a_link(new_config, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("content")
    run = Run.create(new_config)
    (run.path / ".lock").symlink_to(precious)
    with pytest.raises(CheckpointError, match="cannot be written"), run.lock():
        pass
    assert precious.read_text() == "content"
