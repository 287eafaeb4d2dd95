"""Schedules: who trains when is a pure function of seed and step, and follows the shares that
were asked for.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.config.loading import load_config
from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.tasks.pairs import LanguagePair, match_pairs
from polyglot.tasks.schedule import SCHEDULES, schedule_tasks

LANGUAGES = ["en", "de", "fr", "cs"]
SIZES = {"de": 100, "fr": 400, "cs": 2500, "en": 900}
DRAWS = 20_000
UNEQUAL = {"proportional", "temperature", "weighted"}


def build(name, *, seed=1, languages=LANGUAGES, **given):
    given = {"pairs": ["en-*", "*-en"], **given}
    config = SCHEDULES.configure(name, **given)
    tasks = schedule_tasks(config, languages)
    sizes = {
        task.pair: SIZES[task.source if task.source != "en" else task.target] for task in tasks
    }
    return SCHEDULES.build(config, tasks=tasks, languages=languages, sizes=sizes, seed=seed)


def scheduled(folder, name, *overrides):
    """A configuration whose schedule is a shipped one."""
    (folder / "run.yaml").write_text(
        (
            f"languages: {LANGUAGES}\nschedule: {name}\ndata: {{train: [phrasebook]}}\n"
            f"training: {{steps: 1}}\n"
        )
    )
    return load_config(folder / "run.yaml", overrides)


def names(tasks):
    return [task.name for task in tasks]


def shares_drawn(schedule, draws=DRAWS):
    counts = Counter(task.name for step in range(draws) for task in schedule.tasks_at(step))
    return {task.name: counts[task.name] / counts.total() for task in schedule.tasks}


@pytest.mark.parametrize("name", SCHEDULES.names())
class TestEverySchedule:
    @given(
        st.lists(st.integers(0, 10**7), min_size=1, max_size=20),
        st.integers(0, 2**64),
        st.integers(1, 3),
    )
    @settings(max_examples=20, deadline=None)
    def test_a_step_is_a_pure_function_of_seed_and_step(self, name, steps, seed, tasks_per_update):
        """In any order of asking, and whoever asks."""
        one, other = (
            build(name, seed=seed, tasks_per_update=tasks_per_update, copies=True) for _ in range(2)
        )
        asked = {step: one.tasks_at(step) for step in steps}
        assert asked == {step: other.tasks_at(step) for step in sorted(steps, reverse=True)}
        assert all(len(tasks) == tasks_per_update for tasks in asked.values())

    def test_only_its_tasks_train_and_all_of_them(self, name):
        schedule = build(name, copies=["de"], exclude=["fr-en"], tasks_per_update=2)
        wanted = {"en-de", "en-fr", "en-cs", "de-en", "cs-en", "de-de"}
        assert set(names(schedule.tasks)) == wanted
        assert {task.name for step in range(500) for task in schedule.tasks_at(step)} == wanted

    def test_processes_share_the_draws_of_one(self, name):
        """N processes draw what one process draws that takes N times as many tasks an update."""
        for processes, tasks_per_update in ((2, 1), (3, 2)):
            many, one = (
                build(name, tasks_per_update=tasks_per_update),
                build(name, tasks_per_update=tasks_per_update * processes),
            )
            for step in range(50):
                together = [
                    task
                    for process in range(processes)
                    for task in many.tasks_at(step, process=process, processes=processes)
                ]
                assert together == one.tasks_at(step)

    def test_a_rank_draws_from_its_own_tasks_that_are_active(self, name):
        """Without any of them in a phase, it trains nothing."""
        phases = [{"until_step": 10, "pairs": ["de-en"]}]
        schedule = build(name, phases=phases, tasks_per_update=2)
        local_tasks = [task for task in schedule.tasks if task.source == "en"]
        for step in range(10):
            assert schedule.local_tasks_at(step, local_tasks, process=1) == []

        drawn = {}
        for process in (1, 2):
            drawn[process] = []
            for step in range(10, 210):
                tasks = schedule.local_tasks_at(step, local_tasks, process=process)
                assert len(tasks) == 2
                drawn[process] += tasks
            assert set(drawn[process]) == set(local_tasks)
        # Ranks draw independently of each other, except in a fixed order.
        assert (drawn[1] == drawn[2]) == (name == "round_robin")

    def test_frequencies_follow_the_shares(self, name):
        given = {"weights": {"de-en": 3.0, "en-cs": 0.5}} if name == "weighted" else {}
        schedule = build(name, **given)
        shares = {
            task.name: 1.0 if name == "round_robin" else schedule.share(task)
            for task in schedule.tasks
        }
        for task, drawn in shares_drawn(schedule).items():
            assert drawn == pytest.approx(shares[task] / sum(shares.values()), abs=0.01)

    def test_another_seed_draws_otherwise(self, name):
        one, other = (build(name, seed=seed) for seed in (1, 2))
        same = sum(one.tasks_at(step) == other.tasks_at(step) for step in range(200))
        assert same == 200 if name == "round_robin" else same < 150

    def test_tasks_that_no_phase_leaves_a_step_to(self, name):
        phases = [
            {"until_step": 10, "copies": True},
            {"from_step": 10, "until_step": 20, "pairs": ["de-en"]},
        ]
        schedule = build(name, copies=True, phases=phases)
        others = [task.name for task in schedule.tasks if not task.pair.is_copy]
        assert names(schedule.untrained_tasks(steps=10)) == others
        assert (
            names(schedule.untrained_tasks(steps=11))
            == names(schedule.untrained_tasks(steps=20))
            == [one for one in others if one != "de-en"]
        )
        assert (
            schedule.untrained_tasks(steps=21) == [] and build(name).untrained_tasks(steps=1) == []
        )

    def test_phases(self, name):
        phases = [
            {"until_step": 10, "copies": True},
            {"from_step": 5, "until_step": 20, "pairs": ["de-en"]},
            {"from_step": 30, "pairs": ["en-*"]},
        ]
        schedule = build(name, copies=True, phases=phases)
        copies = {f"{language}-{language}" for language in LANGUAGES}
        everything = set(names(schedule.tasks))
        for steps, active in (
            (range(0, 5), copies),
            (range(5, 10), copies | {"de-en"}),
            (range(10, 20), {"de-en"}),
            (range(20, 30), everything),
            ((30, 31, 10**6), {"en-de", "en-fr", "en-cs"}),
        ):
            for step in steps:
                assert set(names(schedule.active(step))) == active
                assert set(names(schedule.tasks_at(step))) <= active


def test_round_robin_is_exact():
    schedule = build("round_robin", copies=["de"], tasks_per_update=3)
    count = len(schedule.tasks)
    drawn = [task for step in range(10 * count) for task in schedule.tasks_at(step)]
    assert drawn == schedule.tasks * 30


def test_uniform_is_uniform_whatever_the_sizes():
    assert all(
        drawn == pytest.approx(1 / 6, abs=0.01) for drawn in shares_drawn(build("uniform")).values()
    )


def test_draws_know_nothing_of_those_before():
    schedule = build("uniform")
    drawn = [schedule.tasks_at(step) for step in range(DRAWS)]
    for apart in (1, 2, 6):
        assert sum(
            one == other for one, other in zip(drawn, drawn[apart:])
        ) / DRAWS == pytest.approx(1 / 6, abs=0.01)


def test_copies_have_their_own_weight():
    shares = shares_drawn(build("uniform", copies=["de", "fr"], copy_weight=0.25))
    assert shares["de-de"] + shares["fr-fr"] == pytest.approx(0.5 / 6.5, abs=0.01)


def test_proportional_is_by_sentences():
    shares = shares_drawn(build("proportional"))
    assert shares["de-en"] == pytest.approx(100 / 6000, abs=0.005) and shares[
        "en-cs"
    ] == pytest.approx(2500 / 6000, abs=0.01)


def test_temperature_goes_from_proportional_to_uniform():
    proportional = build("proportional")
    at_one, hot = build("temperature", temperature=1.0), build("temperature", temperature=1e6)
    assert [at_one.tasks_at(step) for step in range(300)] == [
        proportional.tasks_at(step) for step in range(300)
    ]
    uniform = build("uniform")
    assert sum(hot.tasks_at(step) == uniform.tasks_at(step) for step in range(1000)) >= 999
    assert [
        build("temperature", temperature=2.0).share(task) for task in proportional.tasks
    ] == pytest.approx([10, 20, 50, 10, 20, 50])


def test_weights_are_those_named():
    shares = shares_drawn(build("weighted", weights={"de-en": 4.0}))
    assert shares["de-en"] == pytest.approx(4 / 9, abs=0.015) and shares["cs-en"] == pytest.approx(
        1 / 9, abs=0.01
    )


def test_weights_of_copies_are_multiplied_by_the_copy_weight():
    schedule = build("weighted", copies=["de", "fr"], copy_weight=0.25, weights={"de-de": 4.0})
    shares = {task.name: schedule.share(task) for task in schedule.tasks}
    assert (shares["de-en"], shares["de-de"], shares["fr-fr"]) == (1.0, 1.0, 0.25)


def test_exclude_takes_away_pairs_and_copies():
    assert names(build("uniform", pairs=["*-*"], exclude=["en-*", "*-en", "de-fr"]).tasks) == [
        "de-cs",
        "fr-de",
        "fr-cs",
        "cs-de",
        "cs-fr",
    ]
    assert names(
        build("uniform", pairs=["de-en"], copies=True, exclude=["de-de", "cs-cs"]).tasks
    ) == ["de-en", "en-en", "fr-fr"]


def test_a_pair_that_is_named_twice_is_one_task():
    assert names(build("uniform", pairs=["de-en", "*-en", "de-de"], copies=["de", "de"]).tasks) == [
        "de-en",
        "fr-en",
        "cs-en",
        "de-de",
    ]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "pairs=[de-xx]",
            "schedule.pairs: 'de-xx' matches no pair of the languages en, de, fr, cs",
        ),
        ("exclude=[xx-*]", "schedule.exclude: 'xx-*' matches no pair"),
        ("copies=[de, ff]", "schedule.copies: no language named 'ff'. Known: cs, de, en, fr"),
        (
            "phases=[{pairs: [en-de]}, {pairs: [de-fr]}]",
            "schedule.phases.1: not among schedule.pairs and schedule.copies: de-fr",
        ),
        (
            "phases=[{copies: [de]}]",
            "schedule.phases.0: not among schedule.pairs and schedule.copies: de-de",
        ),
        ("phases=[{copies: [xx]}]", "schedule.phases.0.copies: no language named 'xx'"),
        ("phases=[{pairs: [xx-de]}]", "schedule.phases.0.pairs: 'xx-de' matches no pair"),
        ("phases=[{until_step: 5}]", "schedule.phases.0: names neither pairs nor copies"),
        (
            "phases=[{from_step: 5, until_step: 5, pairs: [en-de]}]",
            "schedule.phases.0: until_step 5 is not after from_step 5",
        ),
        ("tasks_per_update=0", "schedule.tasks_per_update: found 0; expected at least 1"),
        ("copy_weight=0", "schedule.copy_weight: found 0; expected more than 0"),
        ("exclude=[en-*, '*-en']", "schedule: no task is left to train"),
    ],
)
@pytest.mark.parametrize("kind", SCHEDULES.names())
def test_what_cannot_be_meant_is_a_sentence(kind, override, sentence, tmp_path):
    with pytest.raises(ConfigError) as error:
        scheduled(tmp_path, "english_centric", f"schedule.type={kind}", f"schedule.{override}")
    assert str(error.value.problems[0]).startswith(sentence), error.value.problems


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (
            "{de-fr: 2.0}",
            (
                "schedule.weights: not among schedule.pairs and schedule.copies: de-fr; "
                "there are en-de, en-fr"
            ),
        ),
        ("{de: 2.0}", "schedule.weights: not among schedule.pairs and schedule.copies: de;"),
        ("{de-en: 0}", "schedule.weights.de-en: found 0; expected more than 0"),
        ("{de-en: -1.0}", "schedule.weights.de-en: found -1.0; expected more than 0"),
        ("{de-en: much}", "schedule.weights.de-en: found 'much'; expected a number"),
    ],
)
def test_weights_that_cannot_be_meant(weights, sentence, tmp_path):
    with pytest.raises(ConfigError) as error:
        scheduled(
            tmp_path, "english_centric", "schedule.type=weighted", f"schedule.weights={weights}"
        )
    assert str(error.value.problems[0]).startswith(sentence), error.value.problems


# The shipped schedules ----------------------------------------------------------------------------

ENGLISH = {"en-de", "en-fr", "en-cs", "de-en", "fr-en", "cs-en"}
COPIES = {"en-en", "de-de", "fr-fr", "cs-cs"}
ALL = {str(pair) for pair in match_pairs(["*-*"], LANGUAGES)}
PROMISED = {
    "bilingual": {"de-en"},
    "copies_first": ENGLISH | COPIES,
    "english_centric": ENGLISH,
    "leave_out_de_fr": ALL - {"de-fr", "fr-de"},
    "many_to_many": ALL,
    "many_to_many_with_copies": ALL | COPIES,
    "with_back_translation": ENGLISH | COPIES,
    "with_copies": ENGLISH | COPIES,
}


def test_every_shipped_schedule_is_known_here():
    assert set(presets.names("schedules")) == set(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_a_shipped_schedule_trains_what_its_name_promises(name, tmp_path):
    config = scheduled(tmp_path, name)
    assert set(map(str, config.pairs)) == PROMISED[name]


def test_copies_first_begins_with_copies(tmp_path):
    config = scheduled(tmp_path, "copies_first")
    sizes = dict.fromkeys(config.pairs, 1)
    schedule = SCHEDULES.build(
        config.schedule, tasks=config.tasks, languages=config.languages, sizes=sizes, seed=1
    )
    assert set(names(schedule.active(0))) == set(names(schedule.active(999))) == COPIES
    assert set(names(schedule.active(1000))) == ENGLISH | COPIES


def test_shipped_back_translation_begins_at_a_step_of_the_user(tmp_path):
    override = "schedule.back_translation.from_step=70"
    config = scheduled(tmp_path, "with_back_translation", override)
    schedule = SCHEDULES.build(
        config.schedule, tasks=config.tasks, languages=config.languages, sizes={}, seed=1
    )
    drawn = {}
    for step in range(300):
        for task in schedule.tasks_at(step):
            drawn.setdefault(task.name, step)
    first_steps = [step for name, step in drawn.items() if name.endswith(" back-translation")]
    assert len(first_steps) == len(ALL - ENGLISH)
    assert 70 <= min(first_steps) < 90


def test_a_shipped_schedule_can_be_narrowed(tmp_path):
    config = scheduled(tmp_path, "bilingual", "schedule.pairs=[fr-cs]")
    assert config.pairs == [LanguagePair("fr", "cs")]


def test_central_language_comes_from_a_setting():
    config = SCHEDULES.configure(
        "uniform", pairs=["{center}-*", "*-{center}"], center="de", exclude=["{center}-cs"]
    )
    pairs = names(schedule_tasks(config, LANGUAGES))
    assert pairs == ["de-en", "de-fr", "en-de", "fr-de", "cs-de"]


def test_central_language_may_have_another_spelling():
    config = SCHEDULES.configure("uniform", pairs=["{center}-*"])
    languages = ["ces_Latn", "eng_Latn", "fra_Latn"]
    assert names(schedule_tasks(config, languages)) == ["eng_Latn-ces_Latn", "eng_Latn-fra_Latn"]


def test_missing_central_language_is_an_error():
    config = SCHEDULES.configure("uniform", pairs=["{center}-*"], center="ja")
    with pytest.raises(ConfigError) as error_info:
        schedule_tasks(config, LANGUAGES)
    assert str(error_info.value) == (
        "schedule.pairs: {center} is ja, which is not among the languages en, de, fr, cs; "
        "name the central language in schedule.center"
    )


@pytest.mark.parametrize("name", ["english_centric", "with_copies", "copies_first"])
def test_shipped_schedule_has_another_central_language(tmp_path, name):
    config = scheduled(tmp_path, name, "schedule.center=fr")
    pairs = [task.pair for task in config.tasks if not task.pair.is_copy]
    assert len(pairs) == 6
    assert all("fr" in (pair.source, pair.target) for pair in pairs)


@pytest.mark.parametrize("name", ["bilingual", "leave_out_de_fr", "english_centric"])
def test_shipped_schedules_accept_every_spelling(tmp_path, name):
    languages = ["eng_Latn", "deu_Latn", "fra_Latn"]
    (tmp_path / "run.yaml").write_text(
        f"languages: {languages}\nschedule: {name}\ndata: {{train: [phrasebook]}}\n"
        "training: {steps: 1}\n"
    )
    spelled = load_config(tmp_path / "run.yaml").tasks
    short = scheduled(tmp_path, name, "languages=[en, de, fr]").tasks
    short_names = {"eng_Latn": "en", "deu_Latn": "de", "fra_Latn": "fr"}
    assert [(short_names[task.source], short_names[task.target]) for task in spelled] == [
        (task.source, task.target) for task in short
    ]


def test_shares_are_summed_once_in_a_phase(monkeypatch):
    """Every rank computes the draws of all ranks, and a run may have thousands of tasks."""
    schedule = build("uniform", pairs=["*-*"], phases=[{"pairs": ["en-*"], "until_step": 10}])
    calls = Counter()
    share = schedule.share

    def counted_share(task):
        calls[task.name] += 1
        return share(task)

    monkeypatch.setattr(schedule, "share", counted_share)
    for step in range(20):
        for process in range(8):
            schedule.tasks_at(step, process=process, processes=8)
    phases_of_task = {task.name: 2 if task.source == "en" else 1 for task in schedule.tasks}
    assert calls == phases_of_task
