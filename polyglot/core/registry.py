"""Registries: from a name in YAML to a class and its settings."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)

from polyglot.core.annotations import with_whole_numbers
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.problems import KeyPath


class UnusedSetting(NamedTuple):
    """Setting without effect beside the value of another setting."""

    path: KeyPath
    """Path of the setting, below the settings that report it."""
    cause: KeyPath
    """Path of the other setting, or of the section if several of its settings are the cause."""
    reason: str
    """Condition of the setting that is not met, and the value found; the start of a message."""


class ComponentConfig(BaseModel):
    """Settings of one component: frozen, strictly typed, unknown keys refused.

    The docstring of a field describes it in the documentation.
    """

    used_with: ClassVar[Mapping[str, tuple[str, tuple[Any, ...]]]] = {}
    """Settings that have an effect only beside certain values of another setting: by name, the
    other setting and those values. `{"a": ("b", (1, 2))}`: a has an effect only if b is 1 or 2."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_whole_floats(cls, values: Any) -> Any:
        """Accept `1e3` and `1000.0` for whole numbers."""
        if not isinstance(values, dict):
            return values
        converted = {}
        for key, value in values.items():
            field = cls.model_fields.get(key)
            if field is not None:
                value = with_whole_numbers(value, field.annotation)
            converted[key] = value
        return converted

    def settings_without_effect(self) -> Iterator[UnusedSetting]:
        """Yield the settings without effect beside the others, whether they are set or not."""
        yield from self.settings_with_unmet_condition(self.used_with)

    def settings_with_unmet_condition(
        self,
        conditions: Mapping[str, tuple[str, tuple[Any, ...]]],
    ) -> Iterator[UnusedSetting]:
        """Yield the settings whose condition is not met: another setting has none of its values.

        conditions: as in `used_with`.
        """
        for name, (cause, values) in conditions.items():
            found = getattr(self, cause)
            if found not in values:
                wanted = " or ".join(map(repr, values))
                reason = f"no effect: needs {cause} {wanted}, found {found!r}"
                yield UnusedSetting((name,), (cause,), reason)


def _expand_home(path: str) -> str:
    if "/" not in path:
        return path
    return os.path.expanduser(path)


HomePath = Annotated[str, AfterValidator(_expand_home)]
"""Path in which `~/` means the user's home folder. No shell expands it in YAML or after `key=`."""

Component = TypeVar("Component")


class Registry(Generic[Component]):
    """Classes by name. Each has a nested `Config`, to which `register` adds the field `type`."""

    def __init__(self, kind: str) -> None:
        """kind: what the classes are, for error messages, such as `encoder`."""
        self.kind = kind
        self._classes: dict[str, type[Component]] = {}

    def register(self, name: str) -> Callable[[type[Component]], type[Component]]:
        """Return a class decorator that registers the class."""

        def add(component: type[Component]) -> type[Component]:
            assert name not in self._classes, f"two {self.kind}s are named {name!r}"
            component.Config = _with_type(component, name)
            self._classes[name] = component
            return component

        return add

    def names(self) -> list[str]:
        return sorted(self._classes)

    def get(self, name: str) -> type[Component]:
        """Return the class of that name. Raises ConfigError with similar and known names."""
        if name not in self._classes:
            raise ConfigError(unknown_name(self.kind, name, self._classes))
        return self._classes[name]

    def configure(self, name: str, **settings: Any) -> ComponentConfig:
        """Return the validated settings of one class.

        Raises pydantic's ValidationError, which `config.pydantic_errors` turns into problems.
        """
        return self.get(name).Config(**settings)

    def build(self, config: ComponentConfig, **arguments: Any) -> Component:
        """Create the component with these settings.

        arguments: what only the run knows, such as the size of the vocabulary.
        """
        return self._classes[config.type](config, **arguments)

    def config_type(self, default: str | None = None) -> Any:
        """Return the type of a configuration field that accepts the settings of any class.

        The value is a name alone, or a mapping with `type` and settings.
        default: type of a mapping without `type`, and of a field that is left out.
        """
        configs = [component.Config for _, component in sorted(self._classes.items())]
        settings: Any = reduce(or_, configs)
        if len(configs) > 1:
            settings = Annotated[settings, Field(discriminator="type")]

        default_settings = {}
        if default:
            default_settings = {"type": default}
        normalize = BeforeValidator(partial(normalize_settings, default=default_settings))
        settings = Annotated[settings, normalize]
        if default:
            settings = Annotated[settings, Field(default=default_settings, validate_default=True)]
        return settings


def _with_type(component: type[Component], name: str) -> type[ComponentConfig]:
    """Return the class's settings with a field `type` that accepts only this name."""
    return create_model(
        f"{component.__name__}Config",
        __base__=component.Config,
        __doc__=component.__doc__,
        # The fields are documented already. pydantic would search for docstrings in the source of
        # a class that has none, which takes a second for all classes.
        __cls_kwargs__={"use_attribute_docstrings": False},
        type=(Literal[name], name),
    )


def normalize_settings(settings: Any, *, default: Mapping[str, Any]) -> Any:
    """Return the settings of one component as a mapping.

    A name alone becomes its `type`; keys that are missing come from `default`.
    """
    if isinstance(settings, str):
        settings = {"type": settings}
    if not isinstance(settings, dict):
        return settings
    return {**default, **settings}
