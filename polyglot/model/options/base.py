"""What every option is: something that is put on the encoder or the decoder of a language by name, and absent when it is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.model.memory import Memory

OPTIONS: Registry[Option] = Registry("option")

Place = Literal["embedding", "states", "decoder"]


class Option(nn.Module):
    """A part of one component, in the place that its class names.

    `embedding`: between the embeddings and the body, of an encoder or a decoder. `states`: after the body of an encoder.
    `decoder`: beside the states of a decoder.
    """

    place: ClassVar[Place]

    class Config(ComponentConfig):
        """Settings of the option."""

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        """Parameters with a row for each word of the language: they start differently in every language."""
        return ()


class EmbeddingOption(Option):
    """Changes embedded words before the body reads them. On the target side no position sees what follows it.

    In search its state is any value that only the subclass looks into, as that of a decoder is.
    """

    place = "embedding"

    def __init__(self, config: ComponentConfig, *, size: int, memory_size: int | None) -> None:
        """size: E. memory_size: D of the memory on the target side, None on the source side."""
        super().__init__()

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        """embedded (B, S, E), mask (B, S), on the target side the memory -> (B, S, E), which padding does not change"""
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """The state before the first word, one row a sentence."""
        raise NotImplementedError

    def step(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        """words (N, E) -> (N, E) of the same position, and the state after it"""
        raise NotImplementedError

    def reorder(self, state: Any, rows: Tensor) -> Any:
        """The state whose row n is the old row rows[n] (N',)."""
        raise NotImplementedError


class StatesOption(Option):
    """Changes the states of an encoder."""

    place = "states"

    def __init__(self, config: ComponentConfig, *, input_size: int, size: int) -> None:
        """input_size: E of what the body read. size: D of its states."""
        super().__init__()

    def forward(self, states: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
        """states (B, S, D), embedded (B, S, E), mask (B, S) -> (B, S, D), 0 on padding"""
        raise NotImplementedError


class DecoderOption(Option):
    """Stands beside the states of a decoder, and leaves them as they are: it learns with them, and costs nothing in search."""

    place = "decoder"

    def __init__(
        self,
        config: ComponentConfig,
        *,
        initial_state_size: int,
        size: int,
        memory_size: int,
        vocabulary_size: int,
    ) -> None:
        """initial_state_size: size of the state before the first word. size, memory_size: D of the states and of the memory. vocabulary_size: V."""
        super().__init__()

    def word_predictors(self) -> Mapping[str, nn.Module]:
        """Return the word predictors of this option, by the name of the loss that trains each."""
        return {}


def build_options(configs: Iterable[ComponentConfig], **given: Mapping[str, Any]) -> nn.ModuleDict:
    """The options of one component by name. given: by place, the keywords that its options are built with."""
    return nn.ModuleDict(
        {
            config.type: OPTIONS.build(config, **given[OPTIONS.get(config.type).place])
            for config in configs
        }
    )


def is_decoder_option_tensor(name: str) -> bool:
    """Whether a tensor of a component belongs to an option that changes no state, by its name there."""
    owner, _, rest = name.partition(".")
    option = rest.partition(".")[0]
    return (
        owner == "options" and option in OPTIONS.names() and OPTIONS.get(option).place == "decoder"
    )


def options_at(options: nn.ModuleDict, place: Place) -> list[Option]:
    """Those in one place, in the order of the configuration."""
    return [option for option in options.values() if option.place == place]


def apply_preceding(
    options: nn.ModuleDict, name: str, words: Tensor, mask: Tensor, memory: Memory | None = None
) -> Tensor:
    """The embedded words (B, S, E) as they come to the option of that name, through those before it."""
    given = () if memory is None else (memory,)
    for option in options_at(options, "embedding"):
        if option is options[name]:
            break
        words = option(words, mask, *given)
    return words
