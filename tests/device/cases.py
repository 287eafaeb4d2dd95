"""Configurations of models for the tests on the meta device."""

from __future__ import annotations

from pydantic import ValidationError

from polyglot.core.problems import InvalidSettings
from polyglot.core.registry import Registry
from polyglot.model.bridges import BRIDGES
from polyglot.model.config import ModelConfig
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.options import OPTIONS
from tests.builders.models import setting_pairs, tiny_component, tiny_config

OTHER_PROGRAM = "onmt_"
"""Components of OpenNMT-py wait for the device themselves."""


def variants(registry: Registry) -> list[dict[str, object]]:
    """Settings of all components of a registry, in which any two alternatives occur together."""
    result = []
    for name in registry.names():
        if not name.startswith(OTHER_PROGRAM):
            for settings in setting_pairs(registry, name):
                # Dropout, so that its operations are in every update.
                dropout = {"dropout": 0.1} if has_dropout(registry, name) else {}
                result.append({**tiny_component(registry, name), **settings, **dropout})
    return result


def has_dropout(registry: Registry, name: str) -> bool:
    return registry is not OPTIONS and "dropout" in registry.get(name).Config.model_fields


def component_cases() -> list[dict[str, object]]:
    """Arguments of `tiny_config`: every variant of every component, beside changing others."""
    encoders = variants(ENCODERS)
    bridges = variants(BRIDGES)
    decoders = variants(DECODERS)
    cases = []
    for number in range(max(len(encoders), len(bridges), len(decoders))):
        case = {
            "encoder": encoders[number % len(encoders)],
            "bridge": bridges[number % len(bridges)],
            "decoder": decoders[number % len(decoders)],
        }
        cases.append(case)
    return cases


def option_cases() -> list[dict[str, object]]:
    """Every variant of every option, in turn on a recurrent model and a Transformer, and on the
    sides that can have it."""
    cases = []
    for number, option in enumerate(variants(OPTIONS)):
        kind = ("lstm", "transformer")[number % 2]
        fitting = [case for case in sides(option, kind) if is_valid(case)]
        cases.append(fitting[number // 2 % len(fitting)])
    return cases


def sides(option: dict[str, object], kind: str) -> list[dict[str, object]]:
    """The option in the encoder and in the decoder."""
    both = []
    for side in ("encoder", "decoder"):
        both.append({"encoder": kind, "decoder": kind, "options": {side: [option]}})
    return both


def is_valid(case: dict[str, object]) -> bool:
    try:
        return isinstance(tiny_config(**case), ModelConfig)
    except (ValidationError, InvalidSettings):
        return False


def case_name(case: dict[str, object]) -> str:
    if "options" in case:
        [(side, [option])] = case["options"].items()
        return f"{case['encoder']}-{side}-{short(option)}"
    return "-".join(short(component) for component in case.values())


def short(component: dict[str, object]) -> str:
    """Type and the alternatives that differ between variants."""
    values = [str(value) for value in component.values() if isinstance(value, str | bool)]
    return "_".join(values)


CASES = [*component_cases(), *option_cases()]
