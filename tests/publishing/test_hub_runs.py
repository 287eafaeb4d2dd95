"""Commands on a run of the hub: the same results as on the run itself, from no other files than
needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import polyglot as package
from polyglot.core.errors import CheckpointError
from polyglot.report.files import RunFiles
from polyglot.runs.run import Run
from polyglot.runs.stored_results import results_folder
from tests.builders.hub_server import TOKEN
from tests.builders.runs import train

ADDRESS = "hub:user/mine"
TEXT = ["Ein Hund schläft", "das Kind liest ein Buch"]
STDIN = "".join(f"{line}\n" for line in TEXT)
STEP = "checkpoints/step-00000004"
SMALL = {"config.yaml", "settings.json", "vocabulary/checksums.json", f"{STEP}/manifest.json"}
"""Files that every command reads."""


def direction(source: str, target: str) -> set[str]:
    """Files of one direction of the run."""
    return {
        f"vocabulary/{source}.model",
        f"vocabulary/{target}.model",
        f"{STEP}/encoder.{source}.safetensors",
        f"{STEP}/bridge.safetensors",
        f"{STEP}/decoder.{target}.safetensors",
    }


def test_translate_downloads_only_the_files_of_the_direction(hub_with_run, published, polyglot):
    folder, _, _ = published
    options = ("--from", "de", "--to", "fr")
    here = polyglot("translate", folder / "runs/mine", *options, stdin=STDIN)
    there = polyglot("translate", ADDRESS, *options, stdin=STDIN)
    assert there.status == 0, there.errors
    assert there.output == here.output != ""
    assert hub_with_run.take_downloads() == SMALL | direction("de", "fr")

    again = polyglot("translate", ADDRESS, "--from", "en", "--to", "fr", stdin="a dog sleeps\n")
    assert again.status == 0
    missing = {"vocabulary/en.model", f"{STEP}/encoder.en.safetensors"}
    assert hub_with_run.take_downloads() == missing


def test_load(hub_with_run, published):
    folder, _, _ = published
    here = package.load(folder / "runs/mine")
    there = package.load(ADDRESS, pairs=["de-en"])
    assert there.translate(TEXT, source="de", target="en") == here.translate(
        TEXT, source="de", target="en"
    )
    assert (there.sources, there.targets) == (["de"], ["en"])
    assert hub_with_run.take_downloads() == SMALL | direction("de", "en")
    assert package.load(ADDRESS).targets == here.targets


def test_languages_may_be_spelled_differently(hub_with_run):
    translator = package.load(ADDRESS, pairs=["deu-eng"])
    assert (translator.sources, translator.targets) == (["de"], ["en"])


def test_revision(hub_with_run, polyglot):
    repository = hub_with_run.repositories["user/mine"]
    first = repository.branches["main"]
    repository.commit("main", {"README.md": b"nothing else"})
    repository.branches["v1.0"] = first
    for revision in ("v1.0", first):
        result = polyglot(
            "translate", f"{ADDRESS}@{revision}", "--from", "de", "--to", "fr", stdin=STDIN
        )
        assert result.status == 0, result.errors
    assert "the repository has no config.yaml" in polyglot.refuses("show", ADDRESS)


def test_copy_on_this_machine_is_enough_without_the_hub(hub_with_run, polyglot):
    options = ("--from", "de", "--to", "fr")
    before = polyglot("translate", ADDRESS, *options, stdin=STDIN)
    hub_with_run.stop()
    assert polyglot("translate", ADDRESS, *options, stdin=STDIN).output == before.output


def test_messages_of_the_library_are_printed_once(hub_with_run, polyglot, monkeypatch):
    """The library prints them itself, so that our log leaves them out."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub_with_run.cut_after = 100
    result = polyglot("translate", ADDRESS, "--from", "de", "--to", "fr", stdin=STDIN)
    assert result.status == 0, result.errors
    assert not re.search(r"^[\d:]{8} Error while downloading", result.errors, re.MULTILINE)


def test_embed(hub_with_run, published, polyglot):
    folder, _, _ = published
    for run, file in ((folder / "runs/mine", "here.npy"), (ADDRESS, "there.npy")):
        result = polyglot("embed", run, "--language", "de", "--output", file, stdin=STDIN)
        assert result.status == 0, result.errors
    assert numpy.array_equal(numpy.load("here.npy"), numpy.load("there.npy"))
    sent = hub_with_run.take_downloads()
    assert f"{STEP}/encoder.en.safetensors" not in sent
    assert f"{STEP}/encoder.de.safetensors" in sent


def test_show_downloads_no_parameters(hub_with_run, polyglot):
    assert polyglot("show", ADDRESS).output.startswith("languages:\n- en\n- de\n- fr\n")
    assert hub_with_run.take_downloads() == SMALL


def test_evaluate_compare_and_report(hub_with_run, local_run, polyglot):
    """Results are written below the working directory, and are read before those of the hub."""
    evaluated = polyglot("evaluate", ADDRESS, "--metrics", "bleu,chrf")
    assert evaluated.status == 0, evaluated.errors
    assert Path("hub/user/mine/evaluation/default+bleu+chrf/matrix.json").is_file()

    assert polyglot("evaluate", local_run, "--metrics", "bleu,chrf", "--output", "mine").status == 0
    compared = polyglot("compare", "hub/user/mine/evaluation/default+bleu+chrf", "mine")
    assert compared.status == 0, compared.errors

    report = polyglot("report", ADDRESS)
    assert report.status == 0, report.errors
    page = Path("hub/user/mine/report.html").read_text(encoding="utf-8")
    assert "default+bleu+chrf" in page
    assert "<title>hub:user/mine" in page or "hub:user/mine</title>" in page


def test_report_has_the_published_scores(hub_with_run, polyglot):
    report = polyglot("report", ADDRESS)
    assert report.status == 0, report.errors
    page = Path("hub/user/mine/report.html").read_text(encoding="utf-8")
    assert "chrF2|nrefs:1" in page


def test_results_of_this_machine_come_before_those_of_the_hub(hub_with_run, local_run):
    run = Run.open(ADDRESS)
    [published] = RunFiles(run).evaluations
    assert published.folder == run.path / "evaluation/default"
    assert results_folder(run, "evaluation/default") == published.folder
    shutil.copytree(local_run / "evaluation", "hub/user/mine/evaluation")
    [evaluation] = RunFiles(run).evaluations
    assert evaluation.folder == Path("hub/user/mine/evaluation/default")
    assert results_folder(run, "evaluation/default") == evaluation.folder


def test_check(hub_with_run, polyglot):
    result = polyglot("check", ADDRESS)
    assert result.status == 0, result.output + result.errors
    assert "no damage found" in result.output
    sent = hub_with_run.take_downloads()
    assert "README.md" not in sent
    assert f"{STEP}/decoder.fr.safetensors" in sent


def test_export_makes_a_local_copy(hub_with_run, published, polyglot):
    folder, _, _ = published
    result = polyglot("export", ADDRESS, "--component", "*", "--to", "runs/copy")
    assert result.status == 0, result.errors
    options = ("--from", "de", "--to", "fr")
    copied = polyglot("translate", "runs/copy", *options, stdin=STDIN)
    assert (
        copied.output == polyglot("translate", folder / "runs/mine", *options, stdin=STDIN).output
    )


def test_export_of_one_component_downloads_only_that(hub_with_run, polyglot):
    assert polyglot("export", ADDRESS, "--component", "encoder.de").status == 0
    assert (Path("runs/mine-export") / STEP / "encoder.de.safetensors").is_file()
    needed = {f"{STEP}/encoder.de.safetensors"}
    large = {name for name in hub_with_run.take_downloads() if name.endswith(".safetensors")}
    assert large == needed


def test_ensemble_of_a_run_here_and_one_on_the_hub(hub_with_run, local_run, polyglot):
    options = ("--from", "de", "--to", "fr")
    result = polyglot("translate", local_run, ADDRESS, *options, stdin=STDIN)
    assert result.status == 0, result.errors
    assert result.output == polyglot("translate", local_run, *options, stdin=STDIN).output


def test_a_new_run_starts_from_the_hub(hub_with_run, published, tmp_path):
    """`initialize` takes an address, and `add-language` writes one with the commit."""
    from polyglot.config.loading import load_config
    from polyglot.runs.add_language import config_with_language

    folder, _, _ = published
    config = load_config(
        folder / "mine.yaml",
        [
            f"data.folder={folder}",
            f"run={tmp_path / 'new'}",
            "training.steps=1",
            'initialize={"encoder.de": "hub:user/mine"}',
            "freeze=[encoder.de]",
            "validation.bleu_pairs=[]",
        ],
    )
    run = Run.create(config)
    train(run)
    old = Run.open(folder / "runs/mine").choose_checkpoints("best")[0].component("encoder.de")
    new = run.choose_checkpoints("best")[0].component("encoder.de")
    assert all((old[name] == new[name]).all() for name in old)

    (tmp_path / "sv.yaml").write_text(
        f"train: [{{type: text, pairs: {{en-sv: ['{folder}/train.en', '{folder}/train.fr']}}}}]\n",
        encoding="utf-8",
    )
    config = config_with_language(
        Run.open(ADDRESS), "sv", ["training.steps=1"], data_file=tmp_path / "sv.yaml"
    )
    commit = hub_with_run.repositories["user/mine"].branches["main"]
    assert config.initialize["bridge"].run == f"hub:user/mine@{commit}"
    assert config.run == "runs/mine-sv"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("train", ADDRESS, "--resume"),
            "no training state, so it cannot be resumed; start a new run",
        ),
        (
            ("train", ADDRESS),
            "is no configuration to train; `polyglot show hub:user/mine > mine.yaml`",
        ),
        (
            ("shortlist", ADDRESS, "de-en"),
            "shortlist writes into the run, and a run on the hub is read-only",
        ),
        (
            ("check", ADDRESS, "--accept-changes"),
            "read-only; make a copy of it: `polyglot export hub:user/mine",
        ),
    ],
)
def test_commands_that_change_a_run_refuse_it(arguments, message, hub_with_run, polyglot):
    errors = " ".join(polyglot.refuses(*arguments).split())
    assert errors.startswith("error: hub:user/mine: ")
    assert message in errors
    assert hub_with_run.requests == []


def test_compare_needs_translations(hub_with_run, local_run, polyglot):
    message = " ".join(polyglot.refuses("compare", local_run, ADDRESS).split())
    assert "hub:user/mine: its scores were published without the translations" in message
    assert "`polyglot evaluate hub:user/mine`" in message


@pytest.fixture
def environment(hub_with_run, tmp_path) -> dict[str, str]:
    """What a user sets: HF_ENDPOINT, HF_HOME and HF_TOKEN; other tests set them in this process."""
    variables = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_ENDPOINT": hub_with_run.endpoint,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_OFFLINE": "0",
        "HF_TOKEN": TOKEN,
    }
    del variables["HF_DATASETS_CACHE"]
    return variables


def test_variables_of_the_hub_count(hub_with_run, environment, tmp_path):
    """A short process: it downloads the small files, and does not load PyTorch."""
    hub_with_run.repositories["user/mine"].private = True
    program = (
        "import sys\n"
        "from polyglot.runs.hub_files import HubFiles\n"
        f"print(HubFiles.open({ADDRESS!r}).folder)\n"
        "assert 'torch' not in sys.modules\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{tmp_path}/home/hub/models--user--mine/snapshots/")
    assert hub_with_run.take_downloads() == SMALL


@pytest.mark.slow
def test_as_a_process_with_the_variables_of_the_hub(hub_with_run, published, environment):
    folder, _, _ = published
    command = [sys.executable, "-m", "polyglot", "translate", ADDRESS, "--from", "de", "--to", "fr"]
    result = subprocess.run(
        command, input=STDIN, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    here = package.load(folder / "runs/mine").translate(TEXT, source="de", target="fr")
    assert result.stdout.splitlines() == here
    assert "it/s" not in result.stderr, "a progress bar outside a terminal"
    assert hub_with_run.take_downloads() == SMALL | direction("de", "fr")


def test_run_without_a_checkpoint(hub, published):
    _, files, _ = published
    rest = {name: content for name, content in files.items() if not name.startswith("checkpoints/")}
    hub.add("user/mine", rest)
    with pytest.raises(CheckpointError, match="no checkpoint; has the run been trained"):
        package.load(ADDRESS)
