"""Interface of options: modules that are added to an encoder or a decoder by name.

An option that is not named in the configuration does not exist: no parameters, no computation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.model.memory import Memory

OPTIONS: Registry[Option] = Registry("option")

Place = Literal["embedding", "states", "decoder"]
Side = Literal["encoder", "decoder"]


class Option(nn.Module):
    """Module that belongs to an encoder or a decoder, at the place that its class names.

    `embedding`: between the embeddings and the body of an encoder or a decoder.
    `states`: after the body of an encoder, or between the body and the output layer of a decoder.
    `decoder`: beside the states of a decoder, which it does not change.
    """

    place: ClassVar[Place]
    sides: ClassVar[Sequence[Side]]
    """Components that can have the option."""
    decoder_settings: ClassVar[Sequence[str]] = ()
    """Settings that have an effect only in a decoder."""
    used_in_decoder_with: ClassVar[Mapping[str, tuple[str, tuple[Any, ...]]]] = {}
    """Settings that have an effect in a decoder only beside certain values of another setting.
    `{"a": ("b", (1, 2))}`: a has an effect only if b is 1 or 2."""

    class Config(ComponentConfig):
        """Settings of the option."""

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        """Return the parameters with one row for each word of the vocabulary.

        They start from different values in each language.
        """
        return ()


class EmbeddingOption(Option):
    """Change embedded words before the body reads them.

    On the target side, a position does not depend on later positions. In search, the state of the
    option may be any value, like the decoding state of a decoder.
    """

    place = "embedding"
    sides = ("encoder", "decoder")

    def __init__(self, config: ComponentConfig, *, size: int, memory_size: int | None) -> None:
        """size: E. memory_size: size of a memory row; None on the source side."""
        super().__init__()

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        """embedded (B, S, E), mask (B, S) -> (B, S, E); padding does not change real positions

        memory: only on the target side.
        """
        raise NotImplementedError

    def with_context(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the changed words of a source, and a context for decoders or None.

        embedded (B, S, E), mask (B, S) -> words (B, S, E), context (B, C)
        """
        return self(embedded, mask), None

    def start(self, memory: Memory) -> Any:
        """Return the state before the first word, with one row for each sentence."""
        raise NotImplementedError

    def step(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        """words (N, E) -> changed words (N, E) of the same position, and the next state"""
        raise NotImplementedError

    def reorder(self, state: Any, rows: Tensor) -> Any:
        """Return a state whose new row n is the old row rows[n]; rows has shape (N',)."""
        raise NotImplementedError


class StatesOption(Option):
    """Change the states of an encoder, or those of a decoder before its output layer.

    Most options need the whole sentence, so by default only an encoder can have them. An option
    that sets `sides` to both takes the argument `is_target` and has `start`, `step` and `reorder`.
    In a decoder, a position does not depend on later positions.
    """

    place = "states"
    sides = ("encoder",)

    def __init__(
        self,
        config: ComponentConfig,
        *,
        input_size: int,
        size: int,
        is_target: bool = False,
    ) -> None:
        """input_size: size E of the embedded words. size: size D of the body's states.

        is_target: True in a decoder.
        """
        super().__init__()

    def forward(self, states: Tensor, embedded: Tensor | None, mask: Tensor) -> Tensor:
        """states (B, S, D), embedded (B, S, E), mask (B, S) -> (B, S, D), 0 on padding

        embedded: only in an encoder.
        """
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """Return the state before the first word, with one row for each sentence."""
        raise NotImplementedError

    def step(self, states: Tensor, state: Any) -> tuple[Tensor, Any]:
        """states (N, D) -> changed states (N, D) of the same position, and the next state"""
        raise NotImplementedError

    def reorder(self, state: Any, rows: Tensor) -> Any:
        """Return a state whose new row n is the old row rows[n]; rows has shape (N',)."""
        raise NotImplementedError


class DecoderOption(Option):
    """Add losses that read the decoder states; states stay the same, and so does search among all
    words."""

    place = "decoder"
    sides = ("decoder",)

    def __init__(
        self,
        config: ComponentConfig,
        *,
        initial_state_size: int,
        inner_size: int,
        size: int,
        memory_size: int,
        vocabulary_size: int,
    ) -> None:
        """initial_state_size: size of s₀. size: D of the decoder's states. vocabulary_size: V.

        inner_size: size of the decoder's inner states s_j. memory_size: D_m, size of a memory row.
        """
        super().__init__()

    def word_predictors(self) -> Mapping[str, nn.Module]:
        """Return the word predictors of this option, by the name of the loss that trains each."""
        return {}


def build_options(
    configs: Iterable[ComponentConfig],
    *,
    arguments: Mapping[Place, Mapping[str, Any]],
) -> nn.ModuleDict:
    """Build the options of one component, by name.

    arguments: for each place, the keyword arguments of its options, such as `size`.
    """
    options = nn.ModuleDict()
    for config in configs:
        place = OPTIONS.get(config.type).place
        options[config.type] = OPTIONS.build(config, **arguments[place])
    return options


def options_at(options: nn.ModuleDict, place: Place) -> list[Option]:
    """Return the options at one place, in the order of the configuration."""
    return [option for option in options.values() if option.place == place]


def option_vocabulary_parameters(module: nn.Module) -> Iterator[nn.Parameter]:
    """Iterate over the vocabulary parameters of all options inside a module."""
    for child in module.modules():
        if isinstance(child, Option):
            yield from child.vocabulary_parameters()


def is_decoder_option_tensor(name: str) -> bool:
    """True if this is the name, inside a component, of a tensor of a `DecoderOption`.

    Such tensors may be missing in a warm start, because they do not affect the translation.
    """
    parts = name.split(".")
    if len(parts) < 2 or parts[0] != "options" or parts[1] not in OPTIONS.names():
        return False
    return OPTIONS.get(parts[1]).place == "decoder"


def apply_preceding(
    options: nn.ModuleDict,
    name: str,
    words: Tensor,
    mask: Tensor,
    memory: Memory | None = None,
) -> Tensor:
    """Apply the embedding options that precede the named option.

    words (B, S, E), mask (B, S) -> (B, S, E). memory: only on the target side.
    """
    for option in options_at(options, "embedding"):
        if option is options[name]:
            break
        words = option(words, mask, memory)
    return words
