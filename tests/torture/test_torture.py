"""A few trials of each area; `make torture` runs all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.__main__ import AREAS, make_trials
from tests.torture.trial import CORRECT, Finding, Outcome, Table, Trial, run_trial, run_trials
from tests.torture.workplace import Workplace

SHARE = {"damage": 0.01, "hostile-runs": 0.02, "hostile-servers": 0.03}
"""Share of the whole number of trials; 0.02 of other areas."""
LONG_SHARE = 0.05


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("torture") / "workplace")


@pytest.mark.parametrize("area", AREAS)
def test_no_trial_goes_wrong(area: str, workplace: Workplace, tmp_path: Path) -> None:
    trials = make_trials(workplace, seed=1, share=SHARE.get(area, 0.02), areas=[area])
    table = run_trials(trials, tmp_path)
    assert not table.failures, "\n".join(table.failures)


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_no_trial_of_a_larger_share_goes_wrong(
    area: str, workplace: Workplace, tmp_path: Path
) -> None:
    trials = make_trials(workplace, seed=1, share=LONG_SHARE, areas=[area])
    table = run_trials(trials, tmp_path)
    assert not table.failures, "\n".join(table.failures)


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome.value != "correct"])
def test_a_trial_that_goes_wrong_is_counted_and_described(outcome: Outcome, tmp_path: Path) -> None:
    trial = Trial("kills", "after 1 s", lambda folder: Finding(outcome, "it is gone"))
    table = run_trials([trial, Trial("kills", "never", lambda folder: CORRECT)], tmp_path)
    assert table.failures == [f"kills: after 1 s: {outcome.value}: it is gone"]
    assert table.total[outcome] == table.total[Outcome.CORRECT] == 1
    assert "| kills | 2 | 1 |" in table.markdown()


def test_a_trial_that_fails_itself_is_not_correct(tmp_path: Path) -> None:
    trial = Trial("kills", "broken", lambda folder: CORRECT if folder.is_file() else 1 / 0)
    assert run_trial(trial, tmp_path / "new").outcome is Outcome.SILENT_ERROR


def test_the_time_limit_ends_the_trials(tmp_path: Path) -> None:
    trials = [Trial("kills", "never", lambda folder: CORRECT)] * 5
    assert run_trials(trials, tmp_path, seconds=-1.0).total == Table().total
