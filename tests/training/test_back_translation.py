"""Online back-translation in training: what is trained, without gradient, and reproducibly."""

from __future__ import annotations

import json
import re

import pytest
import torch

from polyglot.config.loading import check_config, load_config
from polyglot.core.errors import ConfigError, TrainingError
from polyglot.decoding.base import Hypothesis
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.back_translation import BackTranslation, BackTranslationTask
from polyglot.tasks.batch import BOS, EOS, PAD, Batch
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.schedule import SCHEDULES, schedule_tasks
from polyglot.tasks.sharing import component_names
from polyglot.training import back_translation, task_table
from polyglot.training.back_translation import BackTranslator, evaluation_mode
from polyglot.training.dry_run import plan_training
from polyglot.training.placement import check_processes
from tests.builders.models import random_batch, tiny_config, tiny_model
from tests.builders.runs import (
    make_trainer,
    tiny_run,
    tiny_settings,
    train,
    write_config,
    write_corpus,
)

ALWAYS = {"pairs": ["de-fr"], "weight": 0.999, "max_length_ratio": 1.0, "max_length_extra": 2}
DROPOUT = {part: {"dropout": 0.3} for part in ("embedding", "encoder", "decoder")}
PAIRS = ("de-en", "en-de", "fr-en", "en-fr")
TASK = BackTranslationTask(LanguagePair.parse("de-fr"), text=Task(LanguagePair.parse("en-fr")))


def back_translator(model=None, **settings):
    model = model or tiny_model(tiny_config(), PAIRS)
    return BackTranslator(BackTranslation(**settings), model, languages=["en", "de", "fr"])


def rows(tokens, mask):
    """Tokens of each sentence; padding comes after them."""
    result = []
    for sentence, is_real in zip(tokens.tolist(), mask.tolist()):
        length = sum(is_real)
        assert is_real == [True] * length + [False] * (len(is_real) - length)
        assert sentence[length:] == [PAD] * (len(sentence) - length)
        result.append(sentence[:length])
    return result


def text_batch(*targets):
    return Batch.from_sentences(TASK.text, [[7, 8, 9]] * len(targets), targets)


# The batch ---------------------------------------------------------------------------------------


def test_the_batch_is_the_reverse_pair(monkeypatch):
    """The generator receives the target sentences, and its results are the sources."""
    calls = []

    def fake(self, tokens, mask, source, target):
        sentences = rows(tokens, mask)
        calls.append((source, target, sentences))
        return [tuple(token + 10 for token in reversed(sentence)) for sentence in sentences]

    monkeypatch.setattr(BackTranslator, "_translate", fake)
    targets = [[5, 6, 4], [9], [8, 7]]
    batch = text_batch(*targets)
    result, generation = back_translator().with_generated_source(batch, TASK)

    assert calls == [("fr", "de", targets)]
    assert rows(result.source, result.source_mask) == [[14, 16, 15], [19], [17, 18]]
    assert result.task == TASK
    assert result.target_tokens == batch.target_tokens
    for name in ("target_in", "target_out", "target_mask"):
        assert torch.equal(getattr(result, name), getattr(batch, name))
    assert generation.tokens == 6
    assert generation.seconds > 0


@pytest.mark.parametrize(
    ("through", "pair", "route"),
    [
        ("en", "de-fr", ["fr", "en", "de"]),
        ("eng_Latn", "de-fr", ["fr", "en", "de"]),
        ("en", "en-fr", ["fr", "en"]),
        ("en", "de-en", ["en", "de"]),
        (None, "de-fr", ["fr", "de"]),
    ],
)
def test_route_through_another_language(through, pair, route, monkeypatch):
    hops = []

    def fake(self, tokens, mask, source, target):
        hops.append((source, target, rows(tokens, mask)))
        return [[50 + len(hops)]]

    monkeypatch.setattr(BackTranslator, "_translate", fake)
    task = BackTranslationTask(LanguagePair.parse(pair), text=TASK.text)
    translator = back_translator(through=through)
    result, generation = translator.with_generated_source(text_batch([5, 6]), task)
    assert [hop[:2] for hop in hops] == list(zip(route, route[1:]))
    assert [hop[2] for hop in hops] == [[[5, 6]], [[51]]][: len(hops)]
    assert rows(result.source, result.source_mask) == [[50 + len(hops)]]
    assert generation.tokens == len(hops)


@pytest.mark.parametrize("through", [None, "en"])
def test_sources_are_the_greedy_translations_of_the_model_without_dropout(through):
    model = tiny_model(tiny_config(**DROPOUT), PAIRS, seed=3).train()
    batch = random_batch("en-fr", lengths=[(2, 4), (1, 1), (3, 3)])
    translator = back_translator(model, through=through, max_length_extra=3)
    results = [translator.with_generated_source(batch, TASK)[0] for _ in range(2)]
    assert torch.equal(results[0].source, results[1].source)
    sources = rows(results[0].source, results[0].source_mask)

    model.eval()
    sentences = [row[:-1] for row in rows(batch.target_out, batch.target_mask)]
    route = ["fr", "en", "de"] if through else ["fr", "de"]
    for source, sentence in zip(sources, sentences):
        for origin, language in zip(route, route[1:]):
            sentence = greedy(model, sentence, origin, language, extra=3)
        assert source == sentence


@torch.no_grad()
def greedy(model, sentence, source, target, *, extra):
    """The most probable word again and again, from complete prefixes of one sentence."""
    tokens = torch.tensor([sentence])
    memory = model.encode(source, tokens, torch.ones_like(tokens, dtype=torch.bool))
    decoder = model.decoders[target]
    prefix = [BOS]
    while len(prefix) <= 2 * len(sentence) + extra:
        words = torch.tensor([prefix])
        states = decoder(words, torch.ones_like(words, dtype=torch.bool), memory)
        scores = decoder.output(states[0, -1])
        scores[[PAD, BOS]] = -torch.inf
        word = int(scores.argmax())
        if word == EOS:
            break
        prefix.append(word)
    return prefix[1:] or [EOS]


def test_the_length_of_sources_is_limited():
    batch = text_batch([5] * 9, [6, 7], [8])
    translator = back_translator(max_length_ratio=0.5, max_length_extra=1)
    result, _ = translator.with_generated_source(batch, TASK)
    lengths = result.source_mask.sum(dim=1).tolist()
    for length, limit in zip(lengths, [5, 2, 1]):
        assert 1 <= length <= limit
    assert max(lengths) > 1


@pytest.mark.parametrize("found", [[], [Hypothesis(-1.0, -1.0, ())]])
@pytest.mark.parametrize("through", [None, "en"])
def test_a_batch_of_empty_translations_has_the_end_token(found, through, monkeypatch):
    monkeypatch.setattr(
        back_translation, "search", lambda decoder, memory, lengths, config: [found] * len(lengths)
    )
    model = tiny_model(tiny_config(), PAIRS)
    translator = back_translator(model, through=through)
    result, _ = translator.with_generated_source(text_batch([5], [6, 7]), TASK)
    assert rows(result.source, result.source_mask) == [[EOS], [EOS]]
    assert model(result).states.isfinite().all()


def test_empty_targets_can_be_translated():
    result, _ = back_translator().with_generated_source(text_batch([], []), TASK)
    assert result.source.shape[0] == 2
    assert result.source_mask.any(dim=1).all()


# The update --------------------------------------------------------------------------------------


def trained_update(trainer, monkeypatch):
    """Train one update; returns the batch that the model was given."""
    batches = []
    forward = trainer.model.forward

    def record(batch):
        batches.append(batch)
        return forward(batch)

    monkeypatch.setattr(trainer.model, "forward", record)
    trainer.model.train()
    trainer.update()
    [batch] = batches
    return batch


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_an_update_takes_sentences_of_the_text_and_trains_only_the_pair(
    precision, tmp_path, monkeypatch
):
    run = tiny_run(
        tmp_path,
        schedule={"back_translation": ALWAYS},
        model=DROPOUT,
        training={"precision": precision},
    )
    trainer = make_trainer(run)
    stream = trainer.streams["en-fr"]
    expected = make_trainer(tiny_run(tmp_path, "other")).streams["en-fr"]
    before = components(trainer)
    has_gradients = []
    trainer.model.bridge.register_forward_pre_hook(
        lambda *_: has_gradients.append(torch.is_grad_enabled())
    )
    batch = trained_update(trainer, monkeypatch)

    text = expected.batch(expected.take())
    assert str(batch.task.pair) == "de-fr"
    assert torch.equal(batch.target_out, text.target_out)
    assert stream.position == expected.position
    assert has_gradients == [False, True], "generation, then training"
    after = components(trainer)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == component_names_of(trainer, batch.task.pair)


def components(trainer):
    """All parameters of each component in one tensor."""
    tensors = {}
    for name, parameters in trainer.parameters.items():
        flat = [parameter.detach().flatten() for parameter in parameters.values()]
        tensors[name] = torch.cat(flat)
    return tensors


def component_names_of(trainer, pair):
    return set(component_names(pair)) & trainer.parameters.keys()


def test_generation_leaves_random_numbers_and_modes_as_they_were(tmp_path, monkeypatch):
    """Dropout of the update is the same whether the sources are drawn, chosen or given."""
    seeds = {}
    for search in ("greedy", "sample"):
        settings = {**ALWAYS, "search": search}
        run = tiny_run(tmp_path, search, schedule={"back_translation": settings}, model=DROPOUT)
        trainer = make_trainer(run)
        modes = []
        decoder = trainer.model.decoders["de"]
        start = decoder.start
        decoder.start = lambda *arguments: (modes.append(decoder.training), start(*arguments))[1]

        states = []
        forward = trainer.model.forward
        trainer.model.forward = lambda batch: (
            states.append(torch.get_rng_state()),
            forward(batch),
        )[1]
        trainer.model.train()
        trainer.update()
        assert modes == [False]
        assert all(module.training for module in trainer.model.modules())
        seeds[search] = states
    [greedy_state], [sample_state] = seeds.values()
    assert torch.equal(greedy_state, sample_state)


def test_evaluation_mode_restores_the_mode_of_each_module():
    model = tiny_model(tiny_config()).train()
    model.bridge.eval()
    before = [module.training for module in model.modules()]
    with pytest.raises(KeyError), evaluation_mode([model.bridge, model.encoders["de"]]):
        assert not any(module.training for module in model.encoders["de"].modules())
        assert model.encoders["en"].training
        raise KeyError
    assert [module.training for module in model.modules()] == before


def tensors(run):
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    result = dict(checkpoint.training_tensors())
    for component in checkpoint.components:
        for name, value in checkpoint.component(component).items():
            result[component, name] = value
    return result


@pytest.mark.parametrize("search", ["greedy", "sample"])
def test_a_resumed_run_equals_one_that_never_stopped(search, tmp_path):
    settings = {"weight": 0.6, "from_step": 2, "search": search, "max_length_ratio": 0.5}
    sections = {
        "schedule": {"copies": True, "back_translation": settings, "tasks_per_update": 2},
        "model": DROPOUT,
        "training": {"steps": 7},
    }
    straight = tiny_run(tmp_path, "straight", **sections)
    train(straight)
    stopped = tiny_run(tmp_path, "stopped", **sections)
    train(stopped, stop_after=4)
    trainer = train(Run.open(stopped.path))

    expected = tensors(straight)
    actual = tensors(stopped)
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(actual[name], value), name
    tokens = trainer.progress.tokens
    assert any(name.endswith(" back-translation") for name in tokens)
    assert sum(tokens.values()) > 0


def test_the_log_shows_the_tasks_and_their_cost(tmp_path, caplog):
    settings = {**ALWAYS, "from_step": 1}
    run = tiny_run(tmp_path, schedule={"back_translation": settings}, training={"steps": 2})
    with caplog.at_level("INFO", logger="polyglot"):
        train(run)
    records = [json.loads(line) for line in run.log.read_text().splitlines()]
    first, second = [record for record in records if record["kind"] == "training"]
    assert "back_translation" not in first
    assert second["tasks"].keys() == {"de-fr back-translation"}
    assert second["tasks"]["de-fr back-translation"]["translation"] > 0
    assert 0 < second["back_translation"]["time_share"] < 1
    assert second["back_translation"]["tokens_per_second"] > 0
    [line] = [message for message in caplog.messages if message.startswith("step 2 · loss")]
    assert re.search(r"back-translation \d+% of the time, [\d,]+ tokens/s · de-fr back-", line)


def test_the_shipped_schedule_trains_pairs_without_text(tmp_path):
    overrides = ["schedule=with_back_translation", "schedule.back_translation.from_step=2"]
    run = Run.create(load_config(write_config(tmp_path), overrides))
    trainer = train(run)
    trained = [name for name in trainer.progress.tokens if "back" in name]
    assert trained
    assert set(trained) <= {"de-fr back-translation", "fr-de back-translation"}


def test_an_error_names_the_sentences_of_the_text(tmp_path):
    trainer = make_trainer(tiny_run(tmp_path, schedule={"back_translation": ALWAYS}))
    with torch.no_grad():
        trainer.model.bridge.hidden.weight.fill_(torch.nan)
    message = r"task de-fr back-translation: the loss is not finite .*train.en \+ \S+train.fr, line"
    with pytest.raises(TrainingError, match=message):
        trainer.train()


# Plans -------------------------------------------------------------------------------------------


def test_a_partitioned_run_is_refused_and_a_single_process_is_not(tmp_path):
    settings = tiny_settings(
        tmp_path,
        schedule={"back_translation": {}},
        parallel={"placement": "partitioned"},
    )
    write_corpus(tmp_path)
    config = check_config(settings, where="tiny")
    check_processes(config, 1)
    with pytest.raises(ConfigError, match="schedule.back_translation: needs .* 'partitioned'"):
        check_processes(config, 2)


def test_a_dry_run_lists_the_pairs_and_warns_about_a_late_start(tmp_path, caplog):
    settings = {"from_step": 6, "through": "en", "weight": 0.25}
    write_corpus(tmp_path)
    values = tiny_settings(tmp_path, schedule={"copies": ["fr"], "back_translation": settings})
    plan = plan_training(check_config(values, where="tiny"))
    [table] = [table for table in plan.tables() if table.title.startswith("Back-translation")]
    assert table.title == "Back-translation, 25.0% of the draws from step 6"
    rows_of_table = [[cell.plain for cell in row] for row in table.rows]
    assert rows_of_table == [
        ["de-fr", "en-fr, fr-fr", "en", "12.50%"],
        ["fr-de", "en-de", "en", "12.50%"],
    ]
    assert "nothing will be back-translated, because from_step 6" in caplog.text


def test_many_pairs_are_summed_by_target_language(monkeypatch):
    monkeypatch.setattr(task_table, "MAX_TASKS", 5)
    languages = ["en", "de", "fr", "cs"]
    config = SCHEDULES.configure("uniform", pairs=["en-*", "*-en"], back_translation={})
    tasks = schedule_tasks(config, languages)
    schedule = SCHEDULES.build(config, tasks=tasks, languages=languages, sizes={}, seed=1)
    table = task_table.back_translation_table(schedule.back_translation, tasks)
    rows_of_table = [[cell.plain for cell in row] for row in table.rows]
    assert rows_of_table == [
        ["into fr", "en-fr", "", "10.00%"],
        ["into cs", "en-cs", "", "10.00%"],
        ["into de", "en-de", "", "10.00%"],
    ]
