"""Folder with the files of a run that are published: parameters, vocabularies, scores and card."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import DataError
from polyglot.core.hub_address import HubAddress, refuse_hub
from polyglot.evaluation.grid import scores_title
from polyglot.evaluation.results_cache import MATRIX_FILE
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.views.export import save_with_views
from polyglot.evaluation.views.heat_map import heat_map_png
from polyglot.publishing.model_card import CardScores, model_card
from polyglot.publishing.unknown_pieces import unknown_shares
from polyglot.runs.averaging import parameters_digest
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.export import export
from polyglot.runs.run import Run

logger = logging.getLogger("polyglot")

CARD = "README.md"
PUBLISHED = (
    CARD,
    "config.yaml",
    "settings.json",
    "vocabulary/*.model",
    "vocabulary/*.json",
    "shortlists/*.safetensors",
    "checkpoints/*/*.safetensors",
    "checkpoints/*/*.json",
    "evaluation/**/matrix.*",
    "evaluation/**/*.png",
    "evaluation/**/*.txt",
)
"""Patterns of the files that are published. No other file leaves this machine."""


@dataclass(frozen=True)
class Publication:
    """Choices of the user for a published run."""

    checkpoint: str = "best"
    """`best`, `last`, a step, or `average:N`"""
    licence: str | None = None
    """licence of the model, an identifier of the hub such as `cc-by-4.0`"""
    with_text: bool = False
    """publish test text and translations too, which comparisons need"""


def write_run_folder(
    run: Run,
    folder: Path,
    address: HubAddress,
    publication: Publication,
) -> list[Path]:
    """Write a new folder with all published files, and return them, sorted.

    There is no optimizer state, no log, and no path of this machine except those in the
    configuration. If it fails, nothing is left. Raises the errors of `export`.
    """
    refuse_hub(run.address, "push publishes a run of this machine")
    export(
        run,
        folder,
        checkpoint=publication.checkpoint,
        configured_path=f"runs/{address.name}",
    )
    try:
        _copy_shortlists(run, folder)
        _write_scores_and_card(run, folder, address, publication)
        return _keep_published(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write_scores_and_card(
    run: Run,
    folder: Path,
    address: HubAddress,
    publication: Publication,
) -> None:
    chosen = run.choose_checkpoints(publication.checkpoint)
    scores = list(_write_scores(run, chosen, folder, with_text=publication.with_text))
    if not scores:
        logger.warning(
            f"{run.address}: no scores of this checkpoint, so the model card has none; "
            f"`polyglot evaluate {run.address}` computes them"
        )
    card = model_card(
        run,
        address,
        scores=scores,
        unknown_shares=unknown_shares(run, [entry.matrix for entry in scores]),
        checkpoint=_describe_checkpoint(publication.checkpoint, chosen),
        licence=publication.licence,
    )
    replace_file(folder / CARD, card)


def _describe_checkpoint(name: str, chosen: Sequence[Checkpoint]) -> str:
    steps = [member.step for member in chosen]
    return scores_title({"checkpoint": name, "steps": steps}, "")


def _copy_shortlists(run: Run, folder: Path) -> None:
    for path in sorted((run.path / "shortlists").glob("*.safetensors")):
        place = folder / "shortlists" / path.name
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, place)


def _write_scores(
    run: Run,
    chosen: Sequence[Checkpoint],
    folder: Path,
    *,
    with_text: bool,
) -> Iterator[CardScores]:
    """Write the scores of the chosen checkpoint; those of other checkpoints are left out."""
    digest = parameters_digest(chosen)
    for path in _matrix_folders(run):
        name = path.relative_to(run.evaluation).as_posix()
        matrix = _load_matrix(path)
        if matrix is None:
            continue
        if matrix.checkpoint.get("sha256") != digest:
            title = scores_title(matrix.checkpoint, matrix.test_set)
            logger.warning(f"{path}: left out: scores of another checkpoint ({title})")
            continue
        place = folder / "evaluation" / name
        _save_matrix(matrix, place, with_text=with_text)
        picture = (place / f"{matrix.measures[0]}.png").relative_to(folder)
        yield CardScores(name, matrix, picture.as_posix())


def _matrix_folders(run: Run) -> list[Path]:
    """Folders with a score matrix: the protocol `default` first, then by name."""
    folders = [path.parent for path in run.evaluation.rglob(MATRIX_FILE)]
    return sorted(folders, key=lambda folder: (folder.name != "default", folder))


def _load_matrix(folder: Path) -> ScoreMatrix | None:
    """Load a matrix; a damaged one is left out, with a warning."""
    try:
        return ScoreMatrix.load(folder)
    except DataError as error:
        logger.warning(f"{folder}: left out: {error}")
        return None


def _save_matrix(matrix: ScoreMatrix, folder: Path, *, with_text: bool) -> None:
    """Write a matrix with its tables; without text, only the picture of the first measure."""
    if with_text:
        save_with_views(matrix, folder)
        return
    replace(matrix, hypotheses={}, texts={}).save(folder)
    measure = matrix.measures[0]
    replace_file(folder / f"{measure}.png", heat_map_png(matrix, measure))


def _keep_published(folder: Path) -> list[Path]:
    """Remove everything but the published files and their folders; return these files."""
    published = set()
    for pattern in PUBLISHED:
        published.update(folder.glob(pattern))
    for path in sorted(folder.rglob("*"), reverse=True):  # a folder comes after its files
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in published:
            path.unlink()
    return sorted(published)
