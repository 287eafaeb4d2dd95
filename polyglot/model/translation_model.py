"""The many-to-many model: any encoder, the bridge, any decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.problems import InvalidSettings
from polyglot.core.registry import ComponentConfig, normalize_spec
from polyglot.layers.annealing import Annealed, is_annealed
from polyglot.model.bridges import BRIDGES
from polyglot.model.decoders import DECODERS
from polyglot.model.embedding import EmbeddingConfig, embedding_table
from polyglot.model.encoders import ENCODERS
from polyglot.model.initialization import SkipInit, initialize
from polyglot.model.language_modules import LanguageDecoder, LanguageEncoder
from polyglot.model.memory import Memory
from polyglot.model.options import OPTIONS, Option
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig


class OptionsConfig(ComponentConfig):
    """What is put on an encoder and on a decoder; absent unless it is named."""

    encoder: list[OPTIONS.config_type()] = []
    """Options of the encoder, in the order in which words or states pass through those of one place."""
    decoder: list[OPTIONS.config_type()] = []
    """Options of the decoder, in the same manner."""

    @model_validator(mode="after")
    def _fit(self) -> OptionsConfig:
        problems = []
        for side, elsewhere in (("encoder", "decoder"), ("decoder", "states")):
            names = [option.type for option in getattr(self, side)]
            if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                problems.append(f"{side}: {', '.join(twice)} named twice; once is enough")
            if misfits := [name for name in names if OPTIONS.get(name).place == elsewhere]:
                article = "an" if side == "encoder" else "a"
                problems.append(
                    f"{side}: {', '.join(misfits)} cannot be put on {article} {side}, only on the other side"
                )
        if problems:
            raise InvalidSettings(problems)
        return self


class LanguageConfig(ComponentConfig):
    """The components of one language."""

    embedding: EmbeddingConfig = EmbeddingConfig()
    """Word embeddings."""
    encoder: ENCODERS.config_type(default="lstm")
    """What reads the language."""
    decoder: DECODERS.config_type(default="lstm")
    """What writes the language."""
    options: OptionsConfig = OptionsConfig()
    """What is put on the two."""


class ModelConfig(LanguageConfig):
    """The components of every language, the bridge, and what single languages do differently."""

    bridge: BRIDGES.config_type(default="attention")
    """The layers all languages share."""
    states_size: int | None = Field(None, ge=1, le=65536)
    """Size D of the states that every encoder hands to the bridge; by default `encoder.size`. A projection appears where they differ."""
    initial_range: float | None = Field(None, gt=0, le=10)
    """Draw every parameter uniformly from ± this (the paper: 0.1) instead of the usual initialisation of each kind."""
    languages: dict[str, LanguageConfig] = {}
    """Differences of single languages, such as `de: {encoder: {layers: 1}}`; what is not named is as above."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_languages(cls, value: Any) -> Any:
        """A language names only its differences: the rest comes from the settings for all."""
        if not isinstance(value, dict) or not isinstance(value.get("languages"), dict):
            return value
        common = {
            key: normalize_spec(value.get(key, {}), dict(field.default))
            for key, field in LanguageConfig.model_fields.items()
        }
        languages = {
            language: _merge(common, own) if isinstance(own, dict) else own
            for language, own in value["languages"].items()
        }
        return {**value, "languages": languages}

    @model_validator(mode="after")
    def _sizes_fit(self) -> ModelConfig:
        problems: list[str] = []
        for (
            place,
            one,
        ) in self._everybody():  # what is wrong for all is not said again of one language
            problems += [
                f"{place}{problem}" for problem in self._misfits(one) if problem not in problems
            ]
        if problem := self.bridge.validate_size(self.memory_size):
            problems.append(f"bridge, on states of {self.memory_size}: {problem}")
        if problems:
            raise InvalidSettings(problems)
        return self

    def _everybody(self) -> list[tuple[str, LanguageConfig]]:
        """The settings for all and those of single languages, with the place of each."""
        return [
            ("", self),
            *((f"languages.{name}.", each) for name, each in self.languages.items()),
        ]

    def _misfits(self, one: LanguageConfig) -> Iterator[str]:
        """Sizes that do not fit together, of one language or of all."""
        if one.embedding.tie_output and one.embedding.size != one.decoder.size:
            sizes = f"embedding.size {one.embedding.size} and decoder.size {one.decoder.size}"
            yield f"embedding.tie_output needs equal sizes, found {sizes}"
        if (
            getattr(one.decoder, "attention", None) == "dot"
            and one.decoder.size != self.memory_size
        ):
            yield (
                f"decoder.attention 'dot' needs decoder.size ({one.decoder.size}) equal to the size of the states "
                f"({self.memory_size}); make them equal or use 'general'"
            )
        if getattr(one.decoder, "start", "mean") == "final":
            yield from self._other_final_states(one.decoder)

    def _other_final_states(self, decoder: ComponentConfig) -> Iterator[str]:
        """Encoders whose last states are not what the decoder begins with."""
        wanted = {
            "type": "onmt_rnn",
            **{key: getattr(decoder, key) for key in ("size", "layers", "cell")},
        }
        for other, one in self._everybody():
            found = {key: getattr(one.encoder, key, None) for key in wanted}
            if found != wanted:
                yield (
                    f"decoder.start 'final' needs encoders with {_listed(wanted)}, found {_listed(found)} in {other}encoder; "
                    "make them alike or use 'mean'"
                )

    @property
    def memory_size(self) -> int:
        """D of the states and of the bridge's rows."""
        return self.states_size or self.encoder.size

    def for_language(self, language: str) -> LanguageConfig:
        """The settings of one language."""
        return self.languages.get(language, self)

    def components(self, pairs: Iterable[LanguagePair], sharing: SharingConfig) -> list[str]:
        """The names of the components that these directions need, without building them; `bridge` even where it has no parameters."""
        names = {"bridge": None}
        for pair in pairs:
            for part, side, language in (
                ("encoder", "source_embedding", pair.source),
                ("decoder", "target_embedding", pair.target),
            ):
                tied, same_table = (
                    self.for_language(language).embedding.tie_sides,
                    sharing.is_shared("embeddings", language),
                )
                if tied or same_table:
                    names[
                        f"{'embedding' if tied else side}.{sharing.group_name('embeddings', language)}"
                    ] = None
                if sharing.is_shared(part, language):
                    names[f"{part}.{sharing.group_name(part, language)}"] = None
                if (
                    part == "decoder"
                    or not sharing.is_shared(part, language)
                    or not (tied or same_table)
                ):  # a shared decoder leaves the tag
                    names[f"{part}.{language}"] = None
        return list(names)


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items() if value is not None)


def _merge(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """`own` laid over `common`, part by part; a part of another type shares nothing with the common one."""
    merged = dict(common)
    for key, value in own.items():
        value, base = normalize_spec(value, {}), common.get(key)
        if (
            isinstance(value, dict)
            and isinstance(base, dict)
            and value.get("type", base.get("type")) == base.get("type")
        ):
            value = {**base, **value}
        merged[key] = value
    return merged


@dataclass(frozen=True, slots=True)
class Output:
    """What the losses read."""

    states: Tensor
    """(B, T, D) of the decoder, before its output layer"""
    decoder: LanguageDecoder
    """of the target language, with its output layer"""
    memory: Memory
    encode_target: Callable[[Tensor, Tensor], Memory] | None = None
    """of sentences (B, S) in the target language and their mask, where it has an encoder"""

    @property
    def projection(self) -> nn.Linear:
        """The output layer of the target language, (V, D)."""
        return self.decoder.output


class TranslationModel(nn.Module):
    """Encoders and decoders by language around one bridge (Vázquez et al., section 2)."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        vocabulary_sizes: Mapping[str, int],
        pairs: Iterable[LanguagePair],
        seed: int | None,
        sharing: SharingConfig = SharingConfig(),
    ) -> None:
        """Only what the pairs need is built.

        seed: where the first parameters come from; None leaves them for a checkpoint to fill. Adding a language changes no other.
        sharing: the languages that have a component in common.
        """
        super().__init__()
        self.sharing = sharing
        with SkipInit():
            self._build(config, vocabulary_sizes, list(pairs))
        if seed is not None:
            for name, component in self.components().items():
                initialize(component, initial_range=config.initial_range, seed=str(seed), name=name)

    def _build(
        self,
        config: ModelConfig,
        vocabulary_sizes: Mapping[str, int],
        pairs: Sequence[LanguagePair],
    ) -> None:
        sharing = self.sharing
        self.embeddings = (
            nn.ModuleDict()
        )  # for both sides of a language, and those that languages share, by group
        self.source_embeddings, self.target_embeddings = nn.ModuleDict(), nn.ModuleDict()
        self.encoders, self.decoders = nn.ModuleDict(), nn.ModuleDict()

        def table(language: str, side: nn.ModuleDict) -> nn.Embedding:
            own, group = config.for_language(language).embedding, sharing.group_name("embeddings", language)
            room = (
                self.embeddings
                if own.tie_sides
                else side
                if sharing.is_shared("embeddings", language)
                else {}
            )
            if group not in room:
                room[group] = embedding_table(vocabulary_sizes[language], own.size)
            return room[group]

        def group_member(part: str, language: str, built: nn.ModuleDict) -> nn.Module | None:
            return next((built[one] for one in sharing.members(part, language, list(built))), None)

        for language in dict.fromkeys(pair.source for pair in pairs):
            own = config.for_language(language)
            self.encoders[language] = LanguageEncoder(
                own.encoder,
                own.embedding,
                table=table(language, self.source_embeddings),
                states_size=config.memory_size,
                options=own.options.encoder,
                share_with=group_member("encoder", language, self.encoders),
            )
        self.bridge = BRIDGES.build(config.bridge, size=config.memory_size)
        for language in dict.fromkeys(pair.target for pair in pairs):
            own = config.for_language(language)
            self.decoders[language] = LanguageDecoder(
                own.decoder,
                own.embedding,
                table=table(language, self.target_embeddings),
                memory_size=config.memory_size,
                options=own.options.decoder,
                language_token=sharing.is_shared("decoder", language),
                share_with=group_member("decoder", language, self.decoders),
                share_output=sharing.shares_output(language, tied=own.embedding.tie_output),
            )

    def forward(self, batch: Batch) -> Output:
        memory = self.encode(batch.task.source, batch.source, batch.source_mask)
        target = batch.task.target
        decoder = self.decoders[target]
        encode_target = partial(self.encode, target) if target in self.encoders else None
        return Output(
            decoder(batch.target_in, batch.target_mask, memory), decoder, memory, encode_target
        )

    def encode(self, language: str, tokens: Tensor, mask: Tensor) -> Memory:
        """tokens and mask (B, S) -> the memory any decoder can read"""
        states, final = self.encoders[language].with_final_states(tokens, mask)
        return replace(self.bridge(states, mask), final_states=final)

    def components(self) -> dict[str, nn.Module]:
        """Every component by its name in checkpoints: `encoder.de`, `decoder.de`, `bridge`; before them what they share.

        That is `embedding.de` when sides are tied, and by the name of a group `embedding.west`, or `source_embedding.west` and
        `target_embedding.west`, `encoder.west`, `decoder.west`: then `encoder.de` is what the language still has for itself.
        """
        named = {f"embedding.{group}": table for group, table in self.embeddings.items()}
        named |= {
            f"source_embedding.{group}": table for group, table in self.source_embeddings.items()
        }
        named |= {
            f"target_embedding.{group}": table for group, table in self.target_embeddings.items()
        }
        for part, own in (("encoder", self.encoders), ("decoder", self.decoders)):
            groups = {
                self.sharing.group_name(part, language): one
                for language, one in own.items()
                if self.sharing.is_shared(part, language)
            }
            named |= {f"{part}.{group}": one.shared_modules() for group, one in groups.items()}
        named |= {f"encoder.{language}": encoder for language, encoder in self.encoders.items()}
        named |= {"bridge": self.bridge}
        return named | {
            f"decoder.{language}": decoder for language, decoder in self.decoders.items()
        }

    def component_parameters(self) -> dict[str, dict[str, nn.Parameter]]:
        """The parameters of each component that has any; one that is shared belongs to the first."""
        learnt = {
            name: {key: one for key, one in own.items() if not is_annealed(key)}
            for name, own in self.component_tensors().items()
        }
        return {name: own for name, own in learnt.items() if own}

    def component_tensors(self) -> dict[str, dict[str, Tensor]]:
        """Its parameters and its annealed quantities: what makes a component, and stands in its file of a checkpoint."""
        seen: set[int] = set()
        result = {}
        for name, component in self.components().items():
            tensors = [*component.named_parameters(), *component.named_buffers()]
            own = {
                key: one
                for key, one in tensors
                if id(one) not in seen and (isinstance(one, nn.Parameter) or is_annealed(key))
            }
            seen.update(map(id, own.values()))
            if own:
                result[name] = own
        return result

    def hidden_weights(self) -> list[nn.Parameter]:
        """The weights of linear and recurrent layers, but for those with a row for each word, and for single rows, which are vectors."""
        tables = [module for module in self.modules() if isinstance(module, nn.Embedding)]
        outputs = [decoder.output for decoder in self.decoders.values()]
        of_words = {
            id(parameter) for module in [*tables, *outputs] for parameter in module.parameters()
        }
        of_words |= {
            id(parameter)
            for module in self.modules()
            if isinstance(module, Option)
            for parameter in module.vocabulary_parameters()
        }
        layers = [
            module
            for module in self.modules()
            if isinstance(module, nn.Linear | nn.RNNBase | nn.RNNCellBase)
        ]
        found = {
            id(one): one
            for layer in layers
            for one in layer.parameters()
            if one.dim() == 2 and len(one) > 1
        }
        return [parameter for identity, parameter in found.items() if identity not in of_words]

    def annealed(self) -> dict[str, Annealed]:
        """What changes with the updates in options that learn, by component and option: `encoder.de.roles`."""
        found: dict[str, Annealed] = {}
        for name, component in self.components().items():
            for key, one in component.named_modules():
                if isinstance(one, Annealed) and one not in found.values():
                    owner = key.rpartition(".")[
                        0
                    ]  # a frozen component may have a table that learns with another
                    if any(
                        parameter.requires_grad
                        for parameter in component.get_submodule(owner).parameters()
                    ):
                        found[f"{name}.{owner.removeprefix('options.')}"] = one
        return found
