"""A name in YAML meets a class: one small registry for each room, and the settings that live beside each class."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from polyglot.core.errors import ConfigError, unknown_name


class ComponentConfig(BaseModel):
    """Settings of one component: frozen, strictly typed, unknown keys refused, each field documented where it stands."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


HomePath = Annotated[
    str, AfterValidator(lambda path: os.path.expanduser(path) if "/" in path else path)
]
"""A path whose `~` stands for the user's folder: behind `key=` or in YAML, no shell replaces it. Alone it is a name."""

Component = TypeVar("Component")


class Registry(Generic[Component]):
    """The classes of one room by name; each class brings a nested `Config`, which `register` extends by its `type`."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._classes: dict[str, type[Component]] = {}

    def register(self, name: str) -> Callable[[type[Component]], type[Component]]:
        """Class decorator. The same name twice is a mistake in our own code."""

        def add(cls: type[Component]) -> type[Component]:
            assert name not in self._classes, f"two {self.kind}s are named {name!r}"
            # The fields are documented already; looking for docstrings in a class without source would take a second in all.
            documented = {"use_attribute_docstrings": False}
            kind = (Literal[name], name)
            config = create_model(
                f"{cls.__name__}Config",
                __base__=cls.Config,
                __doc__=cls.__doc__,
                __cls_kwargs__=documented,
                type=kind,
            )
            cls.Config = config
            self._classes[name] = cls
            return cls

        return add

    def names(self) -> list[str]:
        return sorted(self._classes)

    def get(self, name: str) -> type[Component]:
        """The class of that name. Raises ConfigError naming near and known ones."""
        if name not in self._classes:
            raise ConfigError(unknown_name(self.kind, name, self._classes))
        return self._classes[name]

    def configure(self, name: str, **settings: Any) -> ComponentConfig:
        """The settings of one class, checked; pydantic's ValidationError is turned into sentences by whoever read the YAML."""
        return self.get(name).Config(**settings)

    def build(self, config: ComponentConfig, **given: Any) -> Component:
        """The component of those settings; `given` is what only the run knows, such as sizes."""
        return self._classes[config.type](config, **given)

    def config_type(self, default: str | None = None) -> Any:
        """The type of a configuration field that takes any of these: a name alone, or a mapping with `type` and settings.

        default: the type of a mapping that names none, and of a field that is left out.
        """
        union = reduce(or_, (cls.Config for _, cls in sorted(self._classes.items())))
        discriminated = (
            Annotated[union, Field(discriminator="type")] if len(self._classes) > 1 else union
        )
        typed = {"type": default} if default else {}
        named = Annotated[
            discriminated, BeforeValidator(lambda value: normalize_spec(value, typed))
        ]
        return Annotated[named, Field(default=typed, validate_default=True)] if default else named


def normalize_spec(value: Any, default: Mapping[str, Any]) -> Any:
    """The settings of one component as a mapping: a name alone is its `type`, and what is not named is as in `default`."""
    value = {"type": value} if isinstance(value, str) else value
    return {**default, **value} if isinstance(value, dict) else value
