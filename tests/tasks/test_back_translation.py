"""Draws of back-translation: their share, their pairs and texts, and settings that cannot be."""

from __future__ import annotations

from collections import Counter

import pytest

from polyglot.core.errors import ConfigError
from polyglot.tasks.back_translation import BackTranslationTask
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.schedule import SCHEDULES, schedule_tasks

LANGUAGES = ["en", "de", "fr", "cs"]
DRAWS = 6000
ZERO_SHOT = {"de-fr", "fr-de", "de-cs", "cs-de", "fr-cs", "cs-fr"}


def build(kind="uniform", *, seed=1, languages=LANGUAGES, **settings):
    settings = {"pairs": ["en-*", "*-en"], **settings}
    config = SCHEDULES.configure(kind, **settings)
    tasks = schedule_tasks(config, languages)
    sizes = {task.pair: 100 * len(str(task.pair)) + index for index, task in enumerate(tasks)}
    return SCHEDULES.build(config, tasks=tasks, languages=languages, sizes=sizes, seed=seed)


def drawn(schedule, steps):
    tasks = []
    for step in steps:
        tasks += schedule.tasks_at(step)
    return tasks


def is_back_translated(task):
    return isinstance(task, BackTranslationTask)


@pytest.mark.parametrize("kind", SCHEDULES.names())
def test_weight_is_the_share_of_the_draws_and_pairs_are_drawn_equally(kind):
    schedule = build(kind, copies=True, back_translation={"weight": 0.3})
    tasks = drawn(schedule, range(DRAWS))
    generated = [task for task in tasks if is_back_translated(task)]
    assert len(generated) / DRAWS == pytest.approx(0.3, abs=0.02)

    counts = Counter(str(task.pair) for task in generated)
    assert counts.keys() == ZERO_SHOT
    for count in counts.values():
        assert count / len(generated) == pytest.approx(1 / 6, abs=0.03)
    for task in generated:
        assert task.name == f"{task.pair} back-translation"
        assert task.text in schedule.tasks
        assert task.text.target == task.target
        assert task.text_name == task.text.name
    texts = {task.text_name for task in generated}
    assert texts == {"en-de", "en-fr", "en-cs", "de-de", "fr-fr", "cs-cs"}


@pytest.mark.parametrize("kind", SCHEDULES.names())
def test_shares_of_texts_are_those_of_the_draws(kind):
    schedule = build(kind, copies=True, copy_weight=0.2, back_translation={"weight": 0.6})
    shares = schedule.text_shares(0)
    assert sum(shares.values()) == pytest.approx(1)
    counts = Counter(task.text_name for task in drawn(schedule, range(DRAWS)))
    for task, share in shares.items():
        assert counts[task.name] / DRAWS == pytest.approx(share, abs=0.03), task.name


def test_draws_are_those_without_back_translation_before_its_first_step():
    plain = build(tasks_per_update=3)
    schedule = build(tasks_per_update=3, back_translation={"from_step": 50, "weight": 0.5})
    assert drawn(schedule, range(50)) == drawn(plain, range(50))
    assert any(map(is_back_translated, drawn(schedule, range(50, 55))))
    assert schedule.boundaries == [0, 50]
    assert schedule.text_shares(49) == plain.text_shares(49) != schedule.text_shares(50)


def test_other_draws_stay_as_they_are():
    """A draw is back-translated or not; the others do not move."""
    plain = drawn(build(), range(200))
    tasks = drawn(build(back_translation={"weight": 0.5}), range(200))
    for plain_task, task in zip(plain, tasks):
        assert is_back_translated(task) or task == plain_task


def test_processes_share_the_draws_of_one_and_any_step_can_be_asked():
    schedule = build(tasks_per_update=2, back_translation={"weight": 0.5})
    alone = build(tasks_per_update=6, back_translation={"weight": 0.5})
    for step in (7, 3, 100_000):
        together = []
        for process in range(3):
            together += schedule.tasks_at(step, process=process, processes=3)
        assert together == alone.tasks_at(step)
    other_seed = build(seed=2, tasks_per_update=6, back_translation={"weight": 0.5})
    assert drawn(alone, range(20)) != drawn(other_seed, range(20))


def test_only_texts_of_the_phase_are_translated():
    schedule = build(
        copies=True,
        phases=[
            {"until_step": 100, "pairs": ["*-en"]},
            {"from_step": 100, "until_step": 200, "pairs": ["en-fr"], "copies": ["de"]},
        ],
        back_translation={"weight": 0.9},
    )
    assert not any(map(is_back_translated, drawn(schedule, range(100))))
    texts = set()
    for task in drawn(schedule, range(100, 200)):
        if is_back_translated(task):
            texts.add((task.target, task.text_name))
    assert texts == {("fr", "en-fr"), ("de", "de-de")}


@pytest.mark.parametrize(
    ("schedule", "settings", "expected"),
    [
        ({}, {}, ZERO_SHOT),
        ({}, {"pairs": ["fr-*", "de-cs"]}, {"fr-de", "fr-cs", "de-cs"}),
        ({}, {"pairs": ["{center}-de"], "include_trained": True}, {"en-de"}),
        ({"center": "de"}, {"pairs": ["{center}-*"]}, {"de-fr", "de-cs"}),
        ({"pairs": ["*-*"], "exclude": ["de-fr", "fr-de"]}, {}, {"de-fr", "fr-de"}),
        # Czech is only a source: it has no decoder.
        ({"pairs": ["en-de", "de-en", "en-fr", "fr-en", "cs-en"]}, {}, {"de-fr", "fr-de"}),
    ],
)
def test_pairs_without_text_whose_languages_are_read_and_written(schedule, settings, expected):
    built = build(**schedule, back_translation=settings)
    assert {str(pair) for pair in built.back_translation.pairs} == expected


@pytest.mark.parametrize(
    ("schedule", "settings", "message"),
    [
        ({}, {"pairs": ["de-xx"]}, "pairs: 'de-xx' matches no pair of the languages en, de"),
        ({}, {"pairs": ["de-en"]}, "pairs: 'de-en' matches only pairs that are trained with text"),
        ({"pairs": ["*-*"]}, {}, "pairs: .*; include_trained: true back-translates them too"),
        ({}, {"pairs": ["de-de"]}, "pairs: 'de-de' is a copy"),
        ({}, {"pairs": []}, "pairs: names no pair"),
        ({"pairs": ["de-en"]}, {}, "pairs: .*must translate in both directions"),
        ({}, {"through": "xx"}, "through: no language named 'xx'"),
        (
            {"pairs": ["en-de", "de-en", "en-fr", "fr-en", "cs-en"]},
            {"through": "cs"},
            "through: cs is not both source and target",
        ),
        ({"center": "xx"}, {"pairs": ["{center}-de"]}, "pairs: {center} is xx"),
    ],
)
def test_settings_that_cannot_be_meant(schedule, settings, message):
    values = {"pairs": ["en-*", "*-en"], **schedule, "back_translation": settings}
    config = SCHEDULES.configure("uniform", **values)
    with pytest.raises(ConfigError, match=f"^schedule.back_translation.{message}"):
        schedule_tasks(config, LANGUAGES)


def test_pairs_of_back_translation_are_not_tasks_with_text():
    config = SCHEDULES.configure("uniform", pairs=["en-*", "*-en"], back_translation={})
    pairs = {task.pair for task in schedule_tasks(config, LANGUAGES)}
    assert LanguagePair("de", "fr") not in pairs
