"""Registries: names become classes with strict settings, and messages help with wrong names."""

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
COMPONENTS = [
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
            """Size of the dog."""

        def __init__(self, config, *, name):
            self.config = config
            self.name = name

    @registry.register("cat")
    class Cat(Dog):
        class Config(Dog.Config):
            lives: int = 9

    return registry


def test_a_component_is_built_from_name_and_settings(registry):
    dog = registry.build(registry.configure("dog", size=5), name="Bello")
    assert type(dog) is registry.get("dog")
    assert dog.config.size == 5
    assert dog.config.type == "dog"
    assert dog.name == "Bello"
    assert registry.names() == ["cat", "dog"]


def test_a_name_cannot_be_registered_twice(registry):
    with pytest.raises(AssertionError, match="two animals are named 'dog'"):
        registry.register("dog")(registry.get("cat"))


def test_the_message_for_an_unknown_name_lists_similar_and_known_names(registry):
    message = "^no animal named 'dgo'. Did you mean 'dog'\\? Known: cat, dog$"
    with pytest.raises(ConfigError, match=message):
        registry.get("dgo")
    without_similar = "no animal named 'zebra'. Known: cat, dog"
    assert unknown_name("animal", "zebra", ["dog", "cat"]) == without_similar
    assert unknown_name("animal", "zebra", []) == "no animal named 'zebra'. Known: none"


def test_a_field_accepts_a_name_or_a_mapping(registry):
    class Zoo(BaseModel):
        pet: registry.config_type()

    dog = registry.configure("dog")
    assert Zoo(pet="dog").pet == dog
    assert Zoo(pet={"type": "dog"}).pet == dog
    assert Zoo(pet={"type": "cat", "lives": 7}).pet.lives == 7


@pytest.mark.parametrize(
    "value",
    [
        "dgo",
        {"type": "dgo"},
        {"size": 1},
        {"type": "dog", "lives": 1},
        {"type": "dog", "size": "large"},
        3,
        None,
    ],
)
def test_a_field_refuses_other_values(value, registry):
    class Zoo(BaseModel):
        pet: registry.config_type()

    with pytest.raises(ValidationError):
        Zoo(pet=value)


def test_a_registry_with_one_class_works_as_a_field():
    single = Registry("animal")
    single.register("dog")(type("Dog", (), {"Config": ComponentConfig}))

    class Zoo(BaseModel):
        pet: single.config_type()

    assert Zoo(pet="dog").pet.type == "dog"
    with pytest.raises(ValidationError) as error:
        Zoo(pet="cat")
    assert validation_problems(error.value, Zoo)


@pytest.mark.parametrize(("registry", "name"), COMPONENTS)
class TestComponents:
    def test_settings_are_frozen_strict_and_refuse_unknown_keys(self, registry, name):
        settings = registry.get(name).Config
        assert issubclass(settings, ComponentConfig)
        assert settings.model_config["frozen"]
        assert settings.model_config["strict"]
        assert settings.model_config["extra"] == "forbid"
        assert settings.model_fields["type"].default == name

    def test_each_setting_has_a_description(self, registry, name):
        fields = registry.get(name).Config.model_fields
        for field, info in fields.items():
            if field != "type":
                assert (info.description or "").strip(), field

    def test_each_class_has_a_docstring(self, registry, name):
        assert (registry.get(name).__doc__ or "").strip()
