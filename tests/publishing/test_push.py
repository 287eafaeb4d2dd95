"""What `push` uploads: everything that a run needs, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from safetensors.torch import load

from polyglot.core.errors import CheckpointError, ConfigError, HubError
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.publishing.push import push
from polyglot.runs.averaging import parameters_digest
from polyglot.runs.run import Run
from tests.builders.pictures import limit_pictures

STEP = "checkpoints/step-00000004"
FILES = {
    "README.md",
    "config.yaml",
    "settings.json",
    "vocabulary/checksums.json",
    "vocabulary/de.model",
    "vocabulary/en.model",
    "vocabulary/fr.model",
    f"{STEP}/manifest.json",
    f"{STEP}/training.json",
    f"{STEP}/bridge.safetensors",
    f"{STEP}/encoder.de.safetensors",
    f"{STEP}/encoder.en.safetensors",
    f"{STEP}/decoder.de.safetensors",
    f"{STEP}/decoder.en.safetensors",
    f"{STEP}/decoder.fr.safetensors",
    "evaluation/default/matrix.json",
    "evaluation/default/bleu.png",
}


@pytest.fixture(autouse=True)
def one_pixel(monkeypatch):
    limit_pictures(monkeypatch)


def uploaded(hub, name: str = "user/mine", branch: str = "main") -> dict[str, bytes]:
    """Files of a branch, without the one that the hub adds."""
    files = dict(hub.repositories[name].files(branch))
    files.pop(".gitattributes", None)
    return files


def test_files(published):
    _, files, _ = published
    assert set(files) - {".gitattributes"} == FILES


def test_parameters_are_those_of_the_run(published):
    folder, files, _ = published
    [checkpoint] = Run.open(folder / "runs/mine").choose_checkpoints("best")
    manifest = json.loads(files[f"{STEP}/manifest.json"])
    assert set(manifest["files"]) == {
        Path(name).name for name in FILES if name.startswith(STEP)
    } - {"manifest.json"}
    for component in checkpoint.components:
        content = files[f"{STEP}/{component}.safetensors"]
        assert load(content).keys() == checkpoint.component(component).keys()
        name = f"{component}.safetensors"
        assert manifest["files"][name] == checkpoint.manifest["files"][name]


def test_no_path_of_this_machine_but_that_of_the_data(published):
    """The configuration names the folder of the data; the run itself could be anywhere."""
    folder, files, _ = published
    config = yaml.safe_load(files["config.yaml"])
    assert config["run"] == "runs/mine"
    assert config["data"]["folder"] == str(folder)
    for name, content in files.items():
        if name not in ("config.yaml", "settings.json", f"{STEP}/manifest.json"):
            assert str(folder).encode() not in content, name


def test_commit(published):
    _, _, url = published
    assert "/user/mine/commit/" in url


def test_nothing_is_left_beside_the_run(hub, local_run):
    push(local_run, "user/mine")
    assert [path.name for path in local_run.parent.iterdir()] == ["mine"]
    assert uploaded(hub).keys() == FILES


def test_message_and_branch(hub, local_run):
    hub.add("user/mine", {})
    push(local_run, "user/mine", revision="averaged", checkpoint="average:2", message="Mean of two")
    repository = hub.repositories["user/mine"]
    assert repository.files("main") == {}
    assert repository.messages[-1] == "Mean of two"
    assert f"{STEP}/bridge.safetensors" in repository.files("averaged")
    state = json.loads(repository.files("averaged")[f"{STEP}/training.json"])
    assert state == {"taken_from": {"run": "mine", "steps": [2, 4]}}


def test_scores_of_another_checkpoint_are_left_out(hub, local_run, caplog):
    push(local_run, "user/mine", checkpoint="2")
    files = uploaded(hub)
    assert not any(name.startswith("evaluation/") for name in files)
    assert "left out: scores of another checkpoint (mine, best checkpoint (step 4))" in caplog.text
    assert "This checkpoint has not been evaluated." in files["README.md"].decode()
    assert "no scores of this checkpoint, so the model card has none" in caplog.text


def test_damaged_scores_are_left_out(hub, local_run, caplog):
    (local_run / "evaluation/default/matrix.json").write_text("{}")
    push(local_run, "user/mine")
    assert "left out" in caplog.text
    assert f"{STEP}/bridge.safetensors" in uploaded(hub)


def test_texts_only_if_asked_for(hub, local_run, tmp_path):
    push(local_run, "user/mine", with_text=True)
    files = uploaded(hub)
    assert "evaluation/default/hypotheses/de-fr.txt" in files
    for name, content in files.items():
        if name.startswith("evaluation/"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    there = ScoreMatrix.load(tmp_path / "evaluation/default")
    here = ScoreMatrix.load(local_run / "evaluation/default")
    assert (there.hypotheses, there.texts) == (here.hypotheses, here.texts)
    run = Run.open("hub:user/mine")
    assert there.checkpoint["sha256"] == parameters_digest(run.choose_checkpoints("best"))


def test_a_second_push_sends_only_what_changed(hub, local_run):
    push(local_run, "user/mine", checkpoint="2")
    objects = dict(hub.objects)
    hub.requests.clear()
    push(local_run, "user/mine", checkpoint="4")
    step_2 = {name for name in uploaded(hub) if "step-00000002" in name}
    assert step_2 == set(), "the files of the earlier version are removed"
    sent = [path for method, path in hub.requests if method == "PUT"]
    assert len(sent) == len(hub.objects) - len(objects)
    hub.requests.clear()
    push(local_run, "user/mine", checkpoint="4")
    assert not any(method == "PUT" for method, _ in hub.requests)


def test_files_of_the_owner_stay(hub, local_run):
    hub.add("user/mine", {"LICENSE": b"mine", "vocabulary/old.model": b"old"})
    push(local_run, "user/mine")
    assert uploaded(hub).keys() == {*FILES, "LICENSE"}


def test_private(hub, local_run):
    push(local_run, "user/mine", private=True)
    assert hub.repositories["user/mine"].private
    hub.add("user/public", {})
    with pytest.raises(HubError, match="hub:user/public: exists and is public, so nothing was upl"):
        push(local_run, "user/public", private=True)
    assert hub.repositories["user/public"].files() == {}


def test_interrupted_upload_leaves_the_repository_as_it_was(hub, local_run):
    hub.add("user/mine", {"README.md": b"before"})
    hub.statuses["/commit/"] = 403
    with pytest.raises(
        HubError, match="does not allow it .*use a token that has the right to write"
    ):
        push(local_run, "user/mine")
    assert uploaded(hub) == {"README.md": b"before"}
    assert [path.name for path in local_run.parent.iterdir()] == ["mine"]

    hub.statuses.clear()
    hub.requests.clear()
    push(local_run, "user/mine")
    assert not any(method == "PUT" for method, _ in hub.requests), "sent before the interruption"
    assert uploaded(hub).keys() == FILES


def test_a_licence_that_the_hub_does_not_know_is_refused_before_the_upload(hub, local_run):
    with pytest.raises(HubError, match='the metadata of the model card: .*"license" must be one'):
        push(local_run, "user/mine", licence="free for friends")
    assert not any(method == "PUT" for method, _ in hub.requests)


def test_shortlists_are_published(hub, local_run):
    folder = local_run / "shortlists"
    folder.mkdir()
    shutil.copy(local_run / STEP / "bridge.safetensors", folder / "de-en.safetensors")
    (folder / "notes.txt").write_text("not for others")
    push(local_run, "user/mine")
    assert uploaded(hub).keys() == {*FILES, "shortlists/de-en.safetensors"}


def test_a_run_on_the_hub_is_copied_first(hub_with_run):
    with pytest.raises(ConfigError, match="push publishes a run of this machine.*polyglot export"):
        push("hub:user/mine", "friend/copy")
    assert list(hub_with_run.repositories) == ["user/mine"]


# On the command line


def test_command(hub, local_run, polyglot):
    result = polyglot("push", local_run, "user/mine", "--private", "--licence", "mit")
    assert result.status == 0, result.errors
    assert f"uploaded: {hub.endpoint}/user/mine/commit/" in " ".join(result.errors.split())
    assert yaml.safe_load(uploaded(hub)["README.md"].split(b"---")[1])["license"] == "mit"


def test_dry_run_writes_the_folder_and_uploads_nothing(hub, local_run, polyglot):
    result = polyglot("push", "runs/mine", "user/mine", "--dry-run")
    assert result.status == 0, result.errors
    folder = Path("runs/mine-hub")
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == FILES
    for name in FILES:
        assert name in result.output
    assert "nothing was uploaded" in result.errors
    assert hub.requests == []
    options = ("--from", "de", "--to", "fr")
    here = polyglot("translate", "runs/mine", *options, stdin="es regnet\n")
    assert polyglot("translate", folder, *options, stdin="es regnet\n").output == here.output
    assert "exists" in polyglot.refuses("push", "runs/mine", "user/mine", "--dry-run")


@pytest.mark.parametrize(
    "name", ["mine", "user/mine/more", "-user/mine", "user/..", "us er/mine", "user/mine@", ""]
)
def test_names_that_the_hub_does_not_allow(name, hub, local_run, polyglot):
    message = polyglot.refuses("push", local_run, f"hub:{name}")
    assert "no address of the hub; write hub:user/name" in " ".join(message.split())
    assert hub.requests == []


def test_run_without_a_checkpoint(hub, local_run):
    shutil.rmtree(local_run / "checkpoints")
    with pytest.raises(CheckpointError, match="no checkpoint; has the run been trained"):
        push(local_run, "user/mine")
    assert hub.requests == []


def test_a_failure_leaves_nothing(hub, local_run, monkeypatch, polyglot):
    def fail(*arguments, **settings):
        raise CheckpointError("no space")

    monkeypatch.setattr("polyglot.publishing.run_folder.model_card", fail)
    polyglot.refuses("push", "runs/mine", "user/mine", "--dry-run")
    polyglot.refuses("push", "runs/mine", "user/mine")
    assert [path.name for path in Path("runs").iterdir()] == ["mine"]
    assert hub.requests == []


def test_no_run(hub):
    with pytest.raises(ConfigError, match="runs/none: no run directory"):
        push("runs/none", "user/mine")


def test_a_second_push_to_a_branch_replaces_its_files(hub, local_run):
    """The repository exists already, then also the branch."""
    hub.add("user/mine", {"README.md": b"before"})
    for step in ("2", "4"):
        push(local_run, "user/mine", revision="trial", checkpoint=step)
        steps = {name.split("/")[1] for name in uploaded(hub, branch="trial") if "step-" in name}
        assert steps == {f"step-0000000{step}"}
    assert uploaded(hub) == {"README.md": b"before"}
