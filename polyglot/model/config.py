"""Configuration of the model: the components of every language, and the bridge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from polyglot.core.problems import InvalidSettings, Problem
from polyglot.core.registry import ComponentConfig, UnusedSetting, normalize_settings
from polyglot.core.setting_types import Size
from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.embedding import EmbeddingConfig
from polyglot.model.encoders import ENCODERS
from polyglot.model.options import OPTIONS
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig


class OptionsConfig(ComponentConfig):
    """Options of an encoder and of a decoder."""

    encoder: list[OPTIONS.config_type()] = []
    """Options of the encoder; options at the same place are applied in this order."""
    decoder: list[OPTIONS.config_type()] = []
    """Options of the decoder; options at the same place are applied in this order."""

    @model_validator(mode="after")
    def _validate_sides(self) -> OptionsConfig:
        problems = [*self._side_problems("encoder"), *self._side_problems("decoder")]
        if problems:
            raise InvalidSettings(problems)
        return self

    def settings_without_effect(self) -> Iterator[UnusedSetting]:
        """Yield the settings of options that have no effect on their side."""
        yield from super().settings_without_effect()
        for number, option in enumerate(self.encoder):
            place = ("encoder", number)
            for name in OPTIONS.get(option.type).decoder_settings:
                reason = "no effect in an encoder, only in a decoder"
                yield UnusedSetting((*place, name), place, reason)
        for number, option in enumerate(self.decoder):
            place = ("decoder", number)
            conditions = OPTIONS.get(option.type).used_in_decoder_with
            for setting in option.settings_with_unmet_condition(conditions):
                yield UnusedSetting(
                    (*place, *setting.path),
                    (*place, *setting.cause),
                    setting.reason,
                )

    def _side_problems(self, side: str) -> Iterator[Problem]:
        """Yield repeated options, and options that only the other side can have."""
        names = [option.type for option in getattr(self, side)]
        distinct = list(dict.fromkeys(names))

        repeated = [name for name in distinct if names.count(name) > 1]
        if repeated:
            yield Problem((side,), f"{', '.join(repeated)} named twice; once is enough")

        misplaced = [name for name in distinct if side not in OPTIONS.get(name).sides]
        if misplaced:
            names_text = ", ".join(misplaced)
            if side == "encoder":
                message = f"{names_text} cannot be added to an encoder, only to a decoder"
            else:
                message = f"{names_text} cannot be added to a decoder, only to an encoder"
            yield Problem((side,), message)


class LanguageConfig(ComponentConfig):
    """Components of one language."""

    embedding: EmbeddingConfig = EmbeddingConfig()
    """Word embeddings."""
    encoder: ENCODERS.config_type(default="lstm")
    """Encoder of the language."""
    decoder: DECODERS.config_type(default="lstm")
    """Decoder of the language."""
    options: OptionsConfig = OptionsConfig()
    """Options of the encoder and the decoder."""


class ModelConfig(LanguageConfig):
    """Components of every language, the bridge, and the differences of single languages."""

    bridge: BRIDGES.config_type(default="attention")
    """Layers that all languages share."""
    states_size: Size | None = None
    """Size D of the states that every encoder passes to the bridge; by default `encoder.size`. An
    encoder of another size gets a projection."""
    initial_range: float | None = Field(None, gt=0, le=10)
    """Draw every parameter uniformly from ± this value (0.1 in the program of Vázquez et al. 2018),
    instead of the usual initialisation of each kind of parameter. Layer norms, and the embedding of
    padding, stay as usual."""
    initial_std: float | None = Field(None, gt=0, le=10)
    """Draw every matrix except recurrent ones from a normal distribution with this standard
    deviation (Weng et al. 2017: 0.01), instead of the usual initialisation. Recurrent matrices stay
    orthogonal."""
    initial_parameters: Literal["same", "independent"] = "same"
    """Initial parameters of different languages. `same`: the layers and options of encoders of
    equal size start with the same parameters, and those of decoders too. Embeddings, projections to
    `states_size` and output layers, also those of word predictors, differ. `independent`: all
    parameters differ."""
    languages: dict[str, LanguageConfig] = {}
    """Settings of single languages that differ, such as `de: {encoder: {layers: 1}}`; all other
    settings are as above."""

    @model_validator(mode="before")
    @classmethod
    def _complete_languages(cls, value: Any) -> Any:
        """Complete the settings of every language with the common settings."""
        if not isinstance(value, dict) or not isinstance(value.get("languages"), dict):
            return value

        # A component that is given by its name alone becomes `{type: name}`.
        common = {}
        for key, field in LanguageConfig.model_fields.items():
            common[key] = normalize_settings(value.get(key, {}), default=dict(field.default))

        languages = {}
        for language, settings in value["languages"].items():
            is_mapping = isinstance(settings, dict)
            if is_mapping:
                languages[language] = _override(common, settings)
            else:
                languages[language] = settings
        return {**value, "languages": languages}

    @model_validator(mode="after")
    def _validate_combinations(self) -> ModelConfig:
        common_problems = list(self._combination_problems(self))
        problems = list(common_problems)
        for language, settings in self.languages.items():
            for problem in self._combination_problems(settings):
                if problem not in common_problems:
                    problems.append(problem.below("languages", language))

        if self.initial_range is not None and self.initial_std is not None:
            message = "model.initial_range draws all parameters; leave one of the two out"
            problems.append(Problem(("initial_std",), message))

        bridge_problem = self.bridge.validate_size(self.memory_size)
        if bridge_problem is not None:
            problems.append(bridge_problem.below("bridge"))

        if problems:
            raise InvalidSettings(problems)
        return self

    def _combination_problems(self, settings: LanguageConfig) -> Iterator[Problem]:
        """Yield the problems of one language, or of the common settings."""
        embedding = settings.embedding
        decoder = settings.decoder
        if embedding.tie_output and embedding.size != decoder.output_states_size:
            key = "size"
            if decoder.output_states_size != decoder.size:
                key = "output_size"  # the user set it, so it decides
            message = (
                f"needs embedding.size ({embedding.size}) equal to decoder.{key} "
                f"({decoder.output_states_size}); make them equal or set it to false"
            )
            yield Problem(("embedding", "tie_output"), message)

        decoder_problem = decoder.validate_size(self.memory_size)
        if decoder_problem is not None:
            yield decoder_problem.below("decoder")

        yield from self._encoder_problems(decoder)
        yield from self._context_problems(settings)

    def _encoder_problems(self, decoder: ComponentConfig) -> Iterator[Problem]:
        """Yield the encoders of any language that do not have the settings a decoder needs."""
        requirement = decoder.encoder_requirement()
        if requirement is None:
            return

        encoders = {"encoder": self.encoder}
        for language, settings in self.languages.items():
            encoders[f"languages.{language}.encoder"] = settings.encoder

        for name, encoder in encoders.items():
            settings = {key: getattr(encoder, key, None) for key in requirement.settings}
            if settings != requirement.settings:
                message = (
                    f"{requirement.value!r} needs encoders with {_listed(requirement.settings)}, "
                    f"found {_listed(settings)} in {name}; {requirement.advice}"
                )
                yield Problem(("decoder", requirement.key), message)

    def _context_problems(self, settings: LanguageConfig) -> Iterator[Problem]:
        """Yield the first problem of a context gate of the decoder with `context: source`.

        It needs a context gate in every encoder, with a context of the size that it reads.
        """
        for number, gate in enumerate(settings.options.decoder):
            if getattr(gate, "context", None) != "source":
                continue
            size = gate.context_size(settings.embedding.size)
            for language_settings in (self, *self.languages.values()):
                encoder_size = _encoder_context_size(language_settings, gate.type)
                if encoder_size != size:
                    found = f"of size {encoder_size}" if encoder_size else "missing"
                    message = (
                        f"'source' needs {gate.type} with a context of size {size} in every "
                        f"encoder, found {found}; add it to model.options.encoder, with equal "
                        "hidden_size"
                    )
                    yield Problem(("options", "decoder", number, "context"), message)
                    return

    @property
    def memory_size(self) -> int:
        """Size D of a memory row: a bridge row, or an encoder state if the bridge is `none`."""
        return self.states_size or self.encoder.size

    def for_language(self, language: str) -> LanguageConfig:
        """Return the settings of one language."""
        return self.languages.get(language, self)

    def component_names(self, pairs: Iterable[LanguagePair], sharing: SharingConfig) -> list[str]:
        """Return the names of the components that these pairs need, without building the model.

        `bridge` is included even if the bridge has no parameters.
        """
        names = ["bridge"]
        for pair in pairs:
            names += self._part_names("encoder", pair.source, sharing)
            names += self._part_names("decoder", pair.target, sharing)
        return list(dict.fromkeys(names))  # each name once, in this order

    def _part_names(self, part: str, language: str, sharing: SharingConfig) -> Iterator[str]:
        """Yield the names of the encoder or decoder of one language, and of what it shares."""
        sides_tied = self.for_language(language).embedding.tie_sides
        separate_table = sides_tied or sharing.is_shared("embeddings", language)
        if separate_table:
            if part == "encoder":
                side = "source_embedding"
            else:
                side = "target_embedding"
            kind = "embedding" if sides_tied else side
            yield f"{kind}.{sharing.group_name('embeddings', language)}"

        shared = sharing.is_shared(part, language)
        if shared:
            yield f"{part}.{sharing.group_name(part, language)}"

        # A decoder always has parameters of the language alone: all its layers if it is not shared,
        # otherwise at least the vector of its language token (see `Embedding`). An encoder has none
        # if its layers and its table are both elsewhere.
        has_own_layers = not shared
        has_own_table = not separate_table
        if part == "decoder" or has_own_layers or has_own_table:
            yield f"{part}.{language}"


def _encoder_context_size(settings: LanguageConfig, gate_type: str) -> int | None:
    """Return the size of the context of a gate of an encoder; None without such a gate."""
    for option in settings.options.encoder:
        if option.type == gate_type:
            return option.context_size(settings.embedding.size)
    return None


def _listed(settings: Mapping[str, Any]) -> str:
    """Return `type onmt_rnn, size 512`, without settings that are None."""
    texts = []
    for key, value in settings.items():
        if value is not None:
            texts.append(f"{key} {value}")
    return ", ".join(texts)


def _override(common: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the common settings with those of one language in their place.

    A component of another type than the common one takes nothing from the common settings.
    """
    merged = dict(common)
    for key, value in settings.items():
        value = normalize_settings(value, default={})
        base = common.get(key)
        if isinstance(value, dict) and isinstance(base, dict):
            same_type = value.get("type", base.get("type")) == base.get("type")
            if same_type:
                value = {**base, **value}
        merged[key] = value
    return merged
