"""Many-to-many translation model: encoders and decoders by language around one bridge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor, nn

from polyglot.layers.annealing import ATTRIBUTE, Annealed, is_annealed
from polyglot.model.bridges import BRIDGES
from polyglot.model.config import ModelConfig
from polyglot.model.embedding import embedding_table
from polyglot.model.initialization import SkipInit, initialize
from polyglot.model.inner_states import InnerStates
from polyglot.model.language_modules import LanguageDecoder, LanguageEncoder
from polyglot.model.memory import Memory
from polyglot.model.options import option_vocabulary_parameters
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig


@dataclass(frozen=True, slots=True)
class Output:
    """Output of the model for one batch; the losses read it."""

    states: Tensor
    """States (B, T, D) of the decoder, before its output layer."""
    decoder: LanguageDecoder
    """Decoder of the target language, with its output layer."""
    memory: Memory
    """Memory of the source sentences."""
    inner: InnerStates
    """States of the decoder before its last non-linear layer."""
    encode_target: Callable[[Tensor, Tensor], Memory] | None = None
    """Function from tokens and mask (B, S) in the target language to their memory; None if the
    target language has no encoder."""
    encode_source: Callable[[], Memory] | None = None
    """Function that encodes the source again, in training with other dropout."""
    decode: Callable[[Memory], Tensor] | None = None
    """Function from another memory to the decoder's states (B, T, D) for the same target."""

    @property
    def projection(self) -> nn.Linear:
        """Output layer of the target language, with weight (V, D)."""
        return self.decoder.output


class TranslationModel(nn.Module):
    """Encoders and decoders by language around one bridge (Vázquez et al. 2018, section 2)."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        vocabulary_sizes: Mapping[str, int],
        pairs: Iterable[LanguagePair],
        seed: int | None,
        sharing: SharingConfig = SharingConfig(),
    ) -> None:
        """Build only the components that the language pairs need.

        seed: seed of the initial values; None leaves the parameters to a checkpoint. Adding a
        language does not change the initial values of the other languages.
        sharing: groups of languages that share components.
        """
        super().__init__()
        self.config = config
        self.sharing = sharing
        with SkipInit():
            self._build(vocabulary_sizes, list(pairs))
        if seed is not None:
            for name, component in self.components().items():
                initialize(
                    component,
                    initial_range=config.initial_range,
                    initial_std=config.initial_std,
                    seed=str(seed),
                    name=name,
                    same_in_all_languages=config.initial_parameters == "same",
                )

    def _build(self, vocabulary_sizes: Mapping[str, int], pairs: Sequence[LanguagePair]) -> None:
        # Tables that several encoders or decoders share, by the name of their sharing group:
        # `embeddings` for both sides of a language, the other two for one side of several
        # languages.
        self.embeddings = nn.ModuleDict()
        self.source_embeddings = nn.ModuleDict()
        self.target_embeddings = nn.ModuleDict()
        self.encoders = nn.ModuleDict()
        self.decoders = nn.ModuleDict()

        for language in dict.fromkeys(pair.source for pair in pairs):
            self.encoders[language] = self._build_encoder(language, vocabulary_sizes[language])
        self.bridge = BRIDGES.build(self.config.bridge, size=self.config.memory_size)
        for language in dict.fromkeys(pair.target for pair in pairs):
            self.decoders[language] = self._build_decoder(language, vocabulary_sizes[language])

    def _build_encoder(self, language: str, vocabulary_size: int) -> LanguageEncoder:
        settings = self.config.for_language(language)
        return LanguageEncoder(
            settings.encoder,
            settings.embedding,
            table=self._embedding_table(language, self.source_embeddings, vocabulary_size),
            states_size=self.config.memory_size,
            options=settings.options.encoder,
            share_with=self._group_member("encoder", language, self.encoders),
        )

    def _build_decoder(self, language: str, vocabulary_size: int) -> LanguageDecoder:
        settings = self.config.for_language(language)
        output_tied = settings.embedding.tie_output
        return LanguageDecoder(
            settings.decoder,
            settings.embedding,
            table=self._embedding_table(language, self.target_embeddings, vocabulary_size),
            memory_size=self.config.memory_size,
            options=settings.options.decoder,
            language_token=self.sharing.is_shared("decoder", language),
            share_with=self._group_member("decoder", language, self.decoders),
            share_output=self.sharing.shares_output(language, tied=output_tied),
        )

    def _embedding_table(
        self,
        language: str,
        side_tables: nn.ModuleDict,
        vocabulary_size: int,
    ) -> nn.Embedding:
        """Return the table of a language on one side: a new table, or the one of its group."""
        embedding = self.config.for_language(language).embedding
        if embedding.tie_sides:
            tables = self.embeddings
        elif self.sharing.is_shared("embeddings", language):
            tables = side_tables
        else:
            return embedding_table(vocabulary_size, embedding.size)

        group = self.sharing.group_name("embeddings", language)
        if group not in tables:
            tables[group] = embedding_table(vocabulary_size, embedding.size)
        return tables[group]

    def _group_member(self, part: str, language: str, built: nn.ModuleDict) -> nn.Module | None:
        """Return an encoder or decoder that is built already and shares with the language."""
        members = self.sharing.members(part, language, list(built))
        return built[members[0]] if members else None

    def forward(self, batch: Batch) -> Output:
        """Encode the source and decode the given target (teacher forcing)."""
        source = batch.task.source
        target = batch.task.target
        memory = self.encode(source, batch.source, batch.source_mask)
        decoder = self.decoders[target]
        states, inner = decoder.with_inner_states(batch.target_in, batch.target_mask, memory)
        if target in self.encoders:
            encode_target = partial(self.encode, target)
        else:
            encode_target = None
        return Output(
            states,
            decoder,
            memory,
            inner,
            encode_target=encode_target,
            encode_source=partial(self.encode, source, batch.source, batch.source_mask),
            decode=partial(decoder, batch.target_in, batch.target_mask),
        )

    def encode(self, language: str, tokens: Tensor, mask: Tensor) -> Memory:
        """tokens and mask (B, S) -> memory, which every decoder can read"""
        encoded = self.encoders[language].encode(tokens, mask)
        return replace(
            self.bridge(encoded.states, mask),
            final_states=encoded.final_states,
            context=encoded.context,
        )

    def components(self) -> dict[str, nn.Module]:
        """Return every component by its name in checkpoints.

        The names are `encoder.de`, `bridge` and `decoder.de`. Shared modules come before them,
        under the name of their group: `encoder.west`, `decoder.west`, `source_embedding.west` and
        `target_embedding.west`, or `embedding.west` if the two sides are tied. Then `encoder.de`
        also contains the shared modules; see `component_tensors`.
        """
        components: dict[str, nn.Module] = {}
        for group, table in self.embeddings.items():
            components[f"embedding.{group}"] = table
        for group, table in self.source_embeddings.items():
            components[f"source_embedding.{group}"] = table
        for group, table in self.target_embeddings.items():
            components[f"target_embedding.{group}"] = table
        components |= self._shared_components("encoder", self.encoders)
        components |= self._shared_components("decoder", self.decoders)

        for language, encoder in self.encoders.items():
            components[f"encoder.{language}"] = encoder
        components["bridge"] = self.bridge
        for language, decoder in self.decoders.items():
            components[f"decoder.{language}"] = decoder
        return components

    def _shared_components(self, part: str, modules: nn.ModuleDict) -> dict[str, nn.Module]:
        """Return the modules that groups of encoders or decoders share, by component name."""
        components = {}
        for language, module in modules.items():
            if self.sharing.is_shared(part, language):
                group = self.sharing.group_name(part, language)
                components[f"{part}.{group}"] = module.shared_modules()
        return components

    def component_parameters(self) -> dict[str, dict[str, nn.Parameter]]:
        """Return the parameters of each component that has any, as `component_tensors` does."""
        result = {}
        for component, tensors in self.component_tensors().items():
            parameters = {}
            for key, tensor in tensors.items():
                if not is_annealed(key):
                    parameters[key] = tensor
            if parameters:
                result[component] = parameters
        return result

    def component_tensors(self) -> dict[str, dict[str, Tensor]]:
        """Return the tensors that checkpoints store for each component.

        These are its parameters and its annealed quantities (values that change with the step by a
        fixed formula, such as the temperature of one-hot roles). A tensor of several components
        belongs to the first of them; a component without tensors is left out.
        """
        assigned: set[int] = set()
        result = {}
        for name, component in self.components().items():
            tensors = {}
            for key, tensor in _stored_tensors(component):
                if id(tensor) not in assigned:
                    tensors[key] = tensor

            assigned |= {id(tensor) for tensor in tensors.values()}
            if tensors:
                result[name] = tensors
        return result

    def hidden_weights(self) -> list[nn.Parameter]:
        """Return the matrices of linear and recurrent layers that transform states.

        Some optimizers, such as Muon, treat them differently from all other parameters. Matrices
        with one row for each word are left out (embeddings, output layers, word predictors), and
        also matrices with a single row, which are vectors.
        """
        excluded = self._vocabulary_parameter_ids()
        weights: dict[int, nn.Parameter] = {}
        for module in self.modules():
            if not isinstance(module, nn.Linear | nn.RNNBase | nn.RNNCellBase):
                continue
            for parameter in module.parameters():
                is_matrix = parameter.dim() == 2 and len(parameter) > 1
                if is_matrix and id(parameter) not in excluded:
                    weights[id(parameter)] = parameter
        return list(weights.values())

    def _vocabulary_parameter_ids(self) -> set[int]:
        """Return the ids of all parameters with one row for each word."""
        modules: list[nn.Module] = [decoder.output for decoder in self.decoders.values()]
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                modules.append(module)

        parameters = list(option_vocabulary_parameters(self))
        for module in modules:
            parameters += module.parameters()
        return {id(parameter) for parameter in parameters}

    def annealed(self) -> dict[str, Annealed]:
        """Return the annealed quantities, such as `encoder.de.roles`, of options not frozen."""
        result: dict[str, Annealed] = {}
        for component_name, component in self.components().items():
            for name, module in component.named_modules():
                if not isinstance(module, Annealed) or module in result.values():
                    continue
                # The name is `options.roles.annealed` for the option `roles`. The parameters of the
                # option are tested, not those of the whole component: a frozen encoder can contain
                # a shared embedding table that other languages still train.
                option_name = name.removesuffix(f".{ATTRIBUTE}")
                option = component.get_submodule(option_name)
                if any(parameter.requires_grad for parameter in option.parameters()):
                    result[f"{component_name}.{option_name.removeprefix('options.')}"] = module
        return result


def _stored_tensors(component: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Iterate over the parameters and the annealed quantities of a component."""
    yield from component.named_parameters()
    for key, buffer in component.named_buffers():
        if is_annealed(key):
            yield key, buffer
