"""Role interaction layer: transforms a word by the roles that it has in its context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig, UnusedSetting
from polyglot.core.setting_types import DropoutRate, HeadCount, WindowWidth
from polyglot.layers.annealing import Annealed, Decay
from polyglot.layers.context_encoder import CnnContext, LstmContext
from polyglot.layers.dropout import Dropout
from polyglot.layers.gumbel_softmax import concrete
from polyglot.layers.linear import Linear
from polyglot.layers.role_mixture import mix_roles
from polyglot.model.memory import Memory
from polyglot.model.options.base import OPTIONS, EmbeddingOption, StatesOption


class RoleTemperature(Decay):
    """Temperature τ of the relaxed one-hot assignment (Weissenborn et al. 2018, section 4)."""

    # Training mixes roles, translation takes one: they agree only near the minimum.
    should_reach_minimum = True

    start: float = Field(5.0, gt=0, le=1e6)
    """τ before the first update."""
    decay: float = Field(0.9995, gt=0, le=1)
    """Factor by which τ is multiplied at each decay."""
    minimum: float = Field(0.5, gt=0)
    """Lower bound of τ."""


class RoleLayer(nn.Module):
    """Role interaction layer on any sequence of vectors e_t; `Roles` has the formulas."""

    decoder_settings = ("target_context",)

    class Config(ComponentConfig):
        used_with = {
            "temperature": ("assignment", ("onehot",)),
            "width": ("context", ("cnn",)),
        }

        roles: HeadCount = 32
        """Number of roles R."""
        assignment: Literal["dense", "softmax", "onehot"] = "softmax"
        """Assignment of roles to a word."""
        combination: Literal["full", "rank1", "additive"] = "full"
        """`full`: Σ_i r_i U_i e. `rank1`: U_o [(U_r r) ⊙ (U_e e)]. `additive`: U r, the
        contextualized baseline without multiplication."""
        residual: bool = True
        """Add e, as if each word had a further role whose transformation is the identity."""
        context: Literal["lstm", "cnn"] = "lstm"
        """Network that reads the context of a word."""
        context_size: int | None = Field(None, ge=2, le=65536)
        """Size of c_t; the BiLSTM of the source side has half of it for each direction. By default
        half the size of e_t. Weissenborn et al. 2018 only say that their LSTM is small."""
        width: WindowWidth = 7
        """Number of words that `cnn` reads: around a word on the source side, up to the word on the
        target side; odd."""
        dropout: DropoutRate = 0.3
        """Dropout on r_t."""
        temperature: RoleTemperature = RoleTemperature()
        """Temperature τ of `onehot`."""
        target_context: Literal["to_word", "before_word"] = "to_word"
        """Context of a word on the target side: up to the word itself, or only the words before it,
        which is the strict reading of section 3.1, LSTM(e_1 … e_{t-1})."""

        @model_validator(mode="after")
        def _validate_sizes(self) -> RoleLayer.Config:
            if self.context_size and self.context_size % 2:
                raise ValueError(
                    f"context_size {self.context_size} cannot be shared by two directions; "
                    "use an even number"
                )
            if self.width % 2 == 0:
                raise ValueError(f"width {self.width} has no middle word; use an odd number")
            return self

        def settings_without_effect(self) -> Iterator[UnusedSetting]:
            yield from super().settings_without_effect()
            if self.combination == "additive" and not self.residual:
                # `residual: false` would have an effect: the output would not depend on the word.
                # That is never useful, so it is refused like a setting without effect.
                reason = "'additive' adds the roles to the word, so it needs residual: true"
                yield UnusedSetting(("residual",), ("combination",), reason)

    def __init__(self, config: Config, *, size: int, is_target: bool) -> None:
        """size: size E of e_t. is_target: True if c_t may not read later words."""
        nn.Module.__init__(self)  # not that of `Option`, which takes other arguments
        self.config = config
        # True if c_t may not read the word itself.
        self.is_strict = is_target and config.target_context == "before_word"
        roles = config.roles
        context_size = config.context_size or 2 * max(1, size // 4)  # even
        if config.context == "lstm":
            self.context = LstmContext(input_size=size, size=context_size, causal=is_target)
        else:
            self.context = CnnContext(
                input_size=size, size=context_size, causal=is_target, width=config.width
            )

        self.dense = Linear(context_size, roles)
        if config.assignment != "dense":
            self.choices = Linear(roles, roles, bias=False)  # row i is u_i
        if config.assignment == "onehot":
            self.annealed = Annealed(temperature=config.temperature)
        self.dropout = Dropout(config.dropout)

        if config.combination == "full":
            # The transposed U_i, one below the other.
            self.matrices = nn.Parameter(torch.empty(roles * size, size))
            nn.init.normal_(self.matrices, std=size**-0.5)
        elif config.combination == "rank1":
            self.of_roles = Linear(roles, size, bias=False)  # U_r, projects the roles
            self.of_words = Linear(size, size, bias=False)  # U_e, projects the word
            self.output = Linear(size, size, bias=False)  # U_o
        else:
            self.of_roles = Linear(roles, size, bias=False)  # U

    def assign_roles(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return the roles r of every word: (B, S, E), (B, S) -> (B, S, R)."""
        contexts = self.context(embedded, mask)
        if self.is_strict:
            initial_context = self.context.before_first(embedded).to(contexts.dtype)
            contexts = torch.cat([initial_context, contexts[:, :-1]], dim=1)
        return self.roles_from_context(contexts)

    def roles_from_context(self, context: Tensor) -> Tensor:
        """Return the roles r of words with these contexts: (..., C) -> (..., R)."""
        dense = self.dense(context).tanh()
        if self.config.assignment == "dense":
            return dense

        scores = self.choices(dense)
        if self.config.assignment == "softmax":
            return scores.softmax(dim=-1)
        if self.training:
            return concrete(scores, self.annealed.temperature, noisy=True)
        return functional.one_hot(scores.argmax(dim=-1), self.config.roles).to(scores.dtype)

    def transform_words(self, words: Tensor, roles: Tensor) -> Tensor:
        """Return ẽ of words (..., E) with these roles (..., R)."""
        roles = self.dropout(roles)
        if self.config.combination == "additive":
            transformed = self.of_roles(roles)
        elif self.config.combination == "rank1":
            transformed = self.output(self.of_roles(roles) * self.of_words(words))
        else:
            sparse = self._skipping_zeros_is_faster(words)
            transformed = mix_roles(roles, words, self.matrices, sparse=sparse)
        if self.config.residual:
            return transformed + words
        return transformed

    def start(self, memory: Memory) -> Any:
        """Return the state of the context network; with `before_word` also c of the first word."""
        sentences = len(memory.states)
        state = self.context.start(sentences, memory.states)
        if not self.is_strict:
            return state
        initial_context = self.context.before_first(memory.states[:, :1])
        return state, initial_context.squeeze(1)

    def step(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        """words (N, E) -> ẽ (N, E) of the same position, and the next state"""
        if not self.is_strict:
            context, next_state = self.context.step(words, state)
            return self.transform_words(words, self.roles_from_context(context)), next_state
        context_state, context = state
        transformed = self.transform_words(words, self.roles_from_context(context))
        next_context, next_state = self.context.step(words, context_state)
        return transformed, (next_state, next_context)

    def reorder(self, state: Any, rows: Tensor) -> Any:
        """Return a state whose new row n is the old row rows[n]; rows has shape (N',)."""
        if not self.is_strict:
            return self.context.reorder(state, rows)
        context_state, context = state
        return self.context.reorder(context_state, rows), context.index_select(0, rows)

    def _skipping_zeros_is_faster(self, words: Tensor) -> bool:
        """True if skipping the zeros in r is faster than one large product."""
        if words.device.type != "cpu":
            return False  # looking for zeros waits for the device
        if not self.training:
            return self.config.assignment == "onehot"
        return self.config.dropout > 0


@OPTIONS.register("roles")
class Roles(RoleLayer, EmbeddingOption):
    """Role interaction layer on the embedded words: ẽ_t = Σ_i r_{t,i} U_i e_t + e_t.

    Source: Weissenborn et al. 2018, "Contextualized role interaction for neural machine
    translation", section 3. The assignment is one of

    - dense: r_t = tanh(W c_t + b);
    - softmax: r_t = softmax over i of u_i · r_t^dense;
    - onehot: a one-hot draw from the softmax. In training it is relaxed with Gumbel noise; outside
      training it is the most probable role.

    On the source side, c_t comes from a BiLSTM; on the target side from an LSTM, which does not
    read later words. For one-hot roles, start from a trained run with softmax roles, named under
    the key `initialize` of the configuration.
    """

    class Config(RoleLayer.Config):
        """Settings of the option."""

    def __init__(self, config: Config, *, size: int, memory_size: int | None) -> None:
        # Not `super`: the two base classes take different arguments (also in `StateRoles`).
        RoleLayer.__init__(self, config, size=size, is_target=memory_size is not None)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        return self.transform_words(embedded, self.assign_roles(embedded, mask))


@OPTIONS.register("state_roles")
class StateRoles(RoleLayer, StatesOption):
    """Role interaction layer on states: s̃_t = Σ_i r_{t,i} U_i s_t + s_t.

    Weissenborn et al. 2018 have it on the embedded words, as `roles`, and say that it may stand in
    any part of a network. In an encoder it changes the states that the bridge reads, in a decoder
    those that the output layer reads. The context c_t comes from these states too.
    """

    sides = ("encoder", "decoder")

    class Config(RoleLayer.Config):
        """Settings of the option."""

    def __init__(
        self,
        config: Config,
        *,
        input_size: int,
        size: int,
        is_target: bool = False,
    ) -> None:
        RoleLayer.__init__(self, config, size=size, is_target=is_target)

    def forward(self, states: Tensor, embedded: Tensor | None, mask: Tensor) -> Tensor:
        changed = self.transform_words(states, self.assign_roles(states, mask))
        return changed * mask.unsqueeze(-1)
