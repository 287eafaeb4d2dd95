"""Changes of `config.yaml`: found by their values, refused, accepted; no kill leaves a false
alarm.
"""

from __future__ import annotations

import json
import logging
import shutil

import pytest

from polyglot.config.loading import check_config
from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.core.yaml import dump_yaml, read_yaml
from polyglot.runs import config_changes
from polyglot.runs.config_changes import accept_changes, log_changes_since
from polyglot.runs.run import Run
from polyglot.runs.stored_settings import EVALUATION, TRANSLATION
from tests.builders.runs import tiny_run, tiny_settings, train


@pytest.fixture(scope="module")
def trained_path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("config_changes")
    run = tiny_run(folder, training={"steps": 2, "checkpoint": {"every": 2}})
    train(run)
    return run.path


@pytest.fixture
def path(trained_path, tmp_path):
    """A copy of the run, which is renamed by that."""
    shutil.copytree(trained_path, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture(autouse=True)
def new_process():
    config_changes._noticed.clear()


def edit(path, section, **settings):
    """Change settings in `config.yaml`."""
    values = read_yaml(path / "config.yaml")
    if section is None:
        values.update(settings)
    else:
        values[section].update(settings)
    (path / "config.yaml").write_text(dump_yaml(values))


def test_comments_layout_and_the_name_of_the_run_do_not_count(path):
    values = read_yaml(path / "config.yaml")
    reversed_values = dict(reversed(list(values.items())))
    (path / "config.yaml").write_text(f"# a comment\n{json.dumps(reversed_values)}\n")
    before = Run.open(path).config
    edit(path, None, run="elsewhere")
    assert Run.open(path).config.model_copy(update={"run": before.run}) == before


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        ("search", {"beam": 7}, "search.beam was 2 and is 7; put the old values back, or accept"),
        ("optimizer", {"learning_rate": 0.5}, "optimizer.learning_rate was 0.01 and is 0.5;"),
        (None, {"seed": 9}, "seed was 1 and is 9;"),
    ],
)
def test_a_changed_setting_is_refused_with_its_old_and_new_value(section, settings, message, path):
    edit(path, section, **settings)
    with pytest.raises(ConfigError, match=message) as error:
        Run.open(path)
    assert str(error.value).startswith(f"{path / 'config.yaml'}: was changed since the program")
    assert f"`polyglot check {path} --accept-changes`" in str(error.value)
    with pytest.raises(ConfigError, match=f"{message[:-1]}.*, or name each as key=value"):
        Run.open_with_overrides(path, ["training.steps=3"])
    assert Run.open(path, accept_changes=True).config


def test_a_configuration_that_was_cut_off_after_a_section_is_refused(path):
    text = (path / "config.yaml").read_text()
    (path / "config.yaml").write_text(text[: text.index("search:")])
    with pytest.raises(ConfigError, match="search.beam was 2 and is 5"):
        Run.open(path, sections=TRANSLATION)


def test_changes_that_a_command_does_not_use_are_logged_once(path, caplog):
    edit(path, "optimizer", learning_rate=0.5)
    edit(path, None, seed=3)
    for sections in (TRANSLATION, EVALUATION):
        assert Run.open(path, sections=sections)
    message = "optimizer.learning_rate was 0.01 and is 0.5, seed was 1 and is 3; this command does"
    assert caplog.text.count(message) == 1
    edit(path, "data", folder="elsewhere")
    assert Run.open(path, sections=TRANSLATION)
    with pytest.raises(ConfigError, match="data.folder was .* and is 'elsewhere'"):
        Run.open(path, sections=EVALUATION)


def test_an_override_confirms_a_change(path):
    edit(path, "optimizer", learning_rate=0.5)
    run = Run.open_with_overrides(path, ["optimizer.learning_rate=0.5"])
    assert run.config.optimizer.learning_rate == 0.5
    run = Run.open_with_overrides(path, ["optimizer.learning_rate=0.25"])
    assert run.config.optimizer.learning_rate == 0.25
    run.write_config()
    assert Run.open(path).config == run.config


def test_accepted_changes_are_stored(path, caplog):
    caplog.set_level(logging.INFO)
    edit(path, "search", beam=7)
    config = Run.open(path, accept_changes=True).config
    assert list(map(str, accept_changes(path, config))) == ["search.beam was 2 and is 7"]
    assert Run.open(path).config.search.beam == 7
    log_changes_since(Run.open(path).choose_checkpoints("last")[0], config)
    assert "step-00000002: settings that changed since: search.beam was 2 and is 7" in caplog.text


def test_a_run_without_stored_settings_is_compared_with_its_checkpoint(path):
    (path / "settings.json").unlink()
    assert Run.open(path)
    edit(path, "search", beam=7)
    with pytest.raises(ConfigError, match="search.beam was 2 and is 7"):
        Run.open(path)


def test_a_run_of_an_older_version_opens_with_one_notice(path, caplog):
    (path / "settings.json").unlink()
    shutil.rmtree(path / "checkpoints")
    edit(path, "search", beam=7)
    for _ in range(2):
        assert Run.open(path).config.search.beam == 7
    assert caplog.text.count("an older version wrote this run without settings.json") == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b"\xff", b'{"settings": 3}', b"[" * 10**5, b"1" * 5000]
)
def test_damaged_settings_are_refused(content, path):
    (path / "settings.json").write_bytes(content)
    with pytest.raises(CheckpointError, match="settings.json: cannot be used: .*accept-changes"):
        Run.open(path)
    accept_changes(path, Run.open(path, accept_changes=True).config)
    assert Run.open(path)


def test_a_flipped_bit_in_the_settings_is_noticed(path):
    content = (path / "settings.json").read_text()
    (path / "settings.json").write_text(content.replace('"beam": 2', '"beam": 3'))
    with pytest.raises(CheckpointError, match="settings.json: cannot be used: its own checksum"):
        Run.open(path)


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
@pytest.mark.parametrize("restored", [False, True])
def test_a_kill_while_the_configuration_is_written_leaves_a_run_that_opens(
    writes, restored, path, monkeypatch
):
    """Either with the old or with the new values."""
    old = Run.open(path)
    new = Run.open_with_overrides(path, ["search.beam=9"])
    backup = config_changes.ConfigBackup.read(path)
    if restored:
        new.write_config()
    remaining = [None] * writes

    def stop_after(function):
        def replacement(*arguments, **settings):
            if not remaining:
                raise KeyboardInterrupt
            remaining.pop()
            return function(*arguments, **settings)

        return replacement

    for name in ("write_settings", "replace_file"):
        monkeypatch.setattr(config_changes, name, stop_after(getattr(config_changes, name)))
    try:
        if restored:
            backup.restore(new.config)
        else:
            new.write_config()
    except KeyboardInterrupt:
        pass
    assert Run.open(path).config in (old.config, new.config)


def test_settings_of_an_older_version_are_completed_with_defaults(path):
    content = json.loads((path / "settings.json").read_text())["settings"]
    del content["search"]["n_best"], content["parallel"]
    config_changes.write_settings(path, content)
    assert Run.open(path)


def test_every_default_is_stored_as_it_is_read(tmp_path):
    config = check_config(tiny_settings(tmp_path), where="tiny")
    run = Run.create(config)
    assert config_changes.stored_settings(run.path).settings == Run.open(run.path).settings
