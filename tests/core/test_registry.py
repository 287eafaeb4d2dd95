"""A registry: names to classes, each with its own settings, strict and helpful."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from polyglot.config.pydantic_errors import validation_problems
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.registry import ComponentConfig, Registry
from polyglot.data.corpora import CORPORA
from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.losses import LOSSES
from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS
from polyglot.tasks.schedule import SCHEDULES
from polyglot.text.preprocessing import STEPS

REGISTRIES = [
    BRIDGES,
    CORPORA,
    DECODERS,
    ENCODERS,
    LEARNING_RATES,
    LOSSES,
    OPTIMIZERS,
    SCHEDULES,
    STEPS,
]
EVERY = [
    pytest.param(registry, name, id=f"{registry.kind}-{name}")
    for registry in REGISTRIES
    for name in registry.names()
]


@pytest.fixture
def registry():
    registry = Registry("animal")

    @registry.register("dog")
    class Dog:
        """Barks."""

        class Config(ComponentConfig):
            size: int = 3
            """How large."""

        def __init__(self, config, *, name):
            self.config, self.name = config, name

    @registry.register("cat")
    class Cat(Dog):
        class Config(Dog.Config):
            lives: int = 9

    return registry


def test_a_name_becomes_an_object_of_its_class(registry):
    dog = registry.build(registry.configure("dog", size=5), name="Bello")
    assert (type(dog), dog.config.size, dog.config.type, dog.name) == (
        registry.get("dog"),
        5,
        "dog",
        "Bello",
    )
    assert registry.names() == ["cat", "dog"]


def test_the_same_name_twice_is_our_mistake(registry):
    with pytest.raises(AssertionError, match="two animals are named 'dog'"):
        registry.register("dog")(registry.get("cat"))


def test_an_unknown_name_lists_near_and_known_ones(registry):
    with pytest.raises(
        ConfigError, match="^no animal named 'dgo'. Did you mean 'dog'\\? Known: cat, dog$"
    ):
        registry.get("dgo")
    assert (
        unknown_name("animal", "zebra", ["dog", "cat"])
        == "no animal named 'zebra'. Known: cat, dog"
    )
    assert unknown_name("animal", "zebra", []) == "no animal named 'zebra'. Known: none"


def test_a_field_takes_a_name_or_a_mapping(registry):
    class Zoo(BaseModel):
        pet: registry.config_type()

    assert Zoo(pet="dog").pet == Zoo(pet={"type": "dog"}).pet == registry.configure("dog")
    assert Zoo(pet={"type": "cat", "lives": 7}).pet.lives == 7
    for wrong in (
        "dgo",
        {"type": "dgo"},
        {"size": 1},
        {"type": "dog", "lives": 1},
        {"type": "dog", "size": "large"},
        3,
        None,
    ):
        with pytest.raises(ValidationError):
            Zoo(pet=wrong)


def test_a_registry_of_one_is_a_field_too():
    single = Registry("animal")
    single.register("dog")(type("Dog", (), {"Config": ComponentConfig}))

    class Zoo(BaseModel):
        pet: single.config_type()

    assert Zoo(pet="dog").pet.type == "dog"
    with pytest.raises(ValidationError) as error:
        Zoo(pet="cat")
    assert validation_problems(error.value, Zoo)


@pytest.mark.parametrize(("registry", "name"), EVERY)
class TestEverySetting:
    def test_settings_are_frozen_strict_and_refuse_unknown_keys(self, registry, name):
        settings = registry.get(name).Config
        assert issubclass(settings, ComponentConfig)
        assert (
            settings.model_config["frozen"]
            and settings.model_config["strict"]
            and settings.model_config["extra"] == "forbid"
        )
        assert settings.model_fields["type"].default == name

    def test_every_setting_says_what_it_is(self, registry, name):
        fields = registry.get(name).Config.model_fields
        silent = [
            field
            for field, info in fields.items()
            if field != "type" and not (info.description or "").strip()
        ]
        assert silent == []

    def test_every_class_says_what_it_is(self, registry, name):
        assert (registry.get(name).__doc__ or "").strip()
