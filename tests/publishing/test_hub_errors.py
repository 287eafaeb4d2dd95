"""What can go wrong with the hub is one sentence that says what to do."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

import polyglot
from polyglot.core.errors import CheckpointError, ConfigError, HubError
from polyglot.publishing.push import push

ADDRESS = "hub:user/mine"
STEP = "checkpoints/step-00000004"


def refusal(address: str = ADDRESS) -> str:
    """Message for a run that cannot be loaded; one line."""
    with pytest.raises(HubError) as error:
        polyglot.load(address)
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"{address}: cannot be downloaded: ")
    return message


def test_no_such_repository(hub):
    message = refusal("hub:user/nothing")
    assert "has no such repository, or it is private; check the name" in message
    assert "log in with `hf auth login`, or set HF_TOKEN" in message


def test_private_repository_without_a_token(hub, published, monkeypatch):
    _, files, _ = published
    hub.add("user/mine", dict(files), private=True)
    assert polyglot.load(ADDRESS).targets == ["en", "de", "fr"]
    monkeypatch.setenv("HF_TOKEN", "")
    hub.add("user/other", dict(files), private=True)
    assert "or it is private" in refusal("hub:user/other")


def test_gated_repository(hub_with_run):
    hub_with_run.gated.add("user/mine")
    endpoint = hub_with_run.endpoint
    assert f"its owner has set conditions; accept them at {endpoint}/user/mine" in refusal()


def test_no_such_revision(hub_with_run):
    assert "it has no revision 'v2'" in refusal(f"{ADDRESS}@v2")


@pytest.mark.parametrize("status", [500, 503, 429])
def test_hub_with_problems(status, hub_with_run, monkeypatch):
    hub_with_run.statuses["/api/models"] = status
    assert re.search(f"answers with status {status} .*; try again later", refusal())


def test_hub_that_is_away(hub):
    hub.stop()
    message = refusal()
    assert f"{hub.endpoint} cannot be reached (" in message
    assert message.endswith("and not all of its files are on this machine; try again later")


def test_failed_transfer_and_errors_of_this_machine(hub_with_run, monkeypatch):
    """A library for large files raises plain errors; a full disk is reported elsewhere."""

    def fail(*arguments, **settings):
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    error = RuntimeError("Data processing error: CAS")
    assert "the transfer failed (Data processing error: CAS); try again later" in refusal()
    error = OSError(errno.ENOSPC, "No space left on device", "file")
    with pytest.raises(OSError, match="No space left"):
        polyglot.load(ADDRESS)


def test_offline_mode(hub_with_run, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "the hub is not asked, because HF_HUB_OFFLINE is set" in refusal()


def test_direction_that_is_not_on_this_machine(hub_with_run, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    polyglot.load(ADDRESS, pairs=["de-en"])
    hub_with_run.stop()
    assert polyglot.load(ADDRESS, pairs=["de-en"]).targets == ["en"]
    with pytest.raises(HubError, match="cannot be reached"):
        polyglot.load(ADDRESS, pairs=["de-fr"])


@pytest.mark.parametrize("token", ["", "hf_wrong"])
def test_push_without_the_right_token(token, hub, local_run, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubError, match="does not know who you are .*; log in with `hf auth login`"):
        push(local_run, "user/mine")
    assert hub.repositories == {}


def test_push_to_a_hub_that_is_away(hub, local_run):
    hub.stop()
    with pytest.raises(HubError, match="hub:user/mine: cannot be written: .* cannot be reached"):
        push(local_run, "user/mine")


def test_a_broken_connection_continues_where_it_broke(hub_with_run, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 50)  # bytes that are written together
    hub_with_run.cut_after = 100
    translator = polyglot.load(ADDRESS, pairs=["de-en"])
    assert translator.translate("es regnet", source="de", target="en")
    assert hub_with_run.ranges == ["bytes=100-"]


def test_an_interrupted_download_continues_with_the_missing_files(hub_with_run, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub_with_run.statuses[f"{STEP}/decoder"] = 404
    with pytest.raises((HubError, CheckpointError)):
        polyglot.load(ADDRESS, pairs=["de-en"])
    before = hub_with_run.take_downloads()
    hub_with_run.statuses.clear()
    polyglot.load(ADDRESS, pairs=["de-en"])
    assert hub_with_run.take_downloads() == {f"{STEP}/decoder.en.safetensors"} - before


def test_parameters_with_a_wrong_checksum(hub_with_run):
    name = f"{STEP}/bridge.safetensors"
    files = hub_with_run.repositories["user/mine"].files()
    files[name] = files[name][:-1] + bytes([files[name][-1] ^ 1])
    with pytest.raises(CheckpointError) as error:
        polyglot.load(ADDRESS, pairs=["de-en"])
    message = str(error.value)
    assert "bridge.safetensors: damaged: its SHA-256 is" in message
    assert "and it is downloaded again; if that does not help, hub:user/mine itself" in message


def test_vocabulary_with_a_wrong_checksum(hub_with_run):
    files = hub_with_run.repositories["user/mine"].files()
    files["vocabulary/de.model"] += b"\n"
    with pytest.raises(CheckpointError, match=r"de.model: damaged: .* hub:user/mine itself is dam"):
        polyglot.load(ADDRESS, pairs=["de-en"])
    assert polyglot.load(ADDRESS, pairs=["en-fr"]).sources == ["en"]


def test_changed_configuration(hub_with_run):
    files = hub_with_run.repositories["user/mine"].files()
    files["config.yaml"] = files["config.yaml"].replace(b"beam: 2", b"beam: 3")
    with pytest.raises(ConfigError, match="was changed since the program wrote it: search.beam"):
        polyglot.load(ADDRESS)


def test_repository_of_another_program(hub):
    hub.add("user/mine", {"model.safetensors": b"x", "config.json": b"{}"})
    with pytest.raises(ConfigError, match="hub:user/mine: no run directory: the repository has no"):
        polyglot.load(ADDRESS)
    assert hub.take_downloads() == set()


@pytest.mark.parametrize(
    "name",
    [
        "checkpoints/step-1/../../../../../../manifest.json",
        "checkpoints/step-00000004/../../../../../../../escaped/manifest.json",
    ],
)
def test_file_names_that_leave_the_folder(name, hub_with_run, tmp_path):
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    files = hub_with_run.repositories["user/mine"].files()
    files[name] = b"{}"
    assert "the name of a file leads out of its folder; do not use this repository" in refusal()
    after = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    assert after == before
    written = [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert "escaped" not in written


def test_other_files_are_not_downloaded(hub_with_run):
    files = hub_with_run.repositories["user/mine"].files()
    files["checkpoints/step-00000004/evil.pkl"] = b"pickle"
    files["setup.py"] = b"raise SystemExit"
    files["vocabulary/evil.py"] = b"raise SystemExit"
    polyglot.load(ADDRESS)
    assert not any("evil" in name or name == "setup.py" for name in hub_with_run.take_downloads())


def test_pushed_run_is_checked_like_any_other(hub_with_run, tmp_path):
    """A manifest that names a file outside its folder is refused before it is read."""
    files = hub_with_run.repositories["user/mine"].files()
    content = files[f"{STEP}/manifest.json"].decode()
    files[f"{STEP}/manifest.json"] = content.replace("bridge.saf", "../bridge.saf").encode()
    with pytest.raises(CheckpointError, match="manifest.json cannot be used"):
        polyglot.load(ADDRESS)
    assert not list(Path(tmp_path / "work").rglob("*"))
