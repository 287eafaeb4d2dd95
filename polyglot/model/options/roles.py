"""The role interaction layer: a word is transformed by the roles that it takes in its context."""

from __future__ import annotations

from typing import Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig
from polyglot.layers.annealing import Annealed, Decay
from polyglot.layers.context_encoder import CnnContext, LstmContext
from polyglot.layers.dropout import Dropout
from polyglot.layers.gumbel_softmax import concrete
from polyglot.layers.linear import Linear
from polyglot.layers.role_mixture import mix_roles
from polyglot.model.memory import Memory
from polyglot.model.options.base import OPTIONS, EmbeddingOption


class Temperature(Decay):
    """Temperature τ of the relaxed one-hot assignment (section 4)."""

    start: float = Field(5.0, gt=0, le=1e6)
    """τ before the first update."""
    decay: float = Field(0.9995, gt=0, le=1)
    """What τ is multiplied with …"""
    minimum: float = Field(0.5, gt=0)
    """τ does not fall below this."""


@OPTIONS.register("roles")
class Roles(EmbeddingOption):
    """ẽ_t = Σ_i r_{t,i} U_i e_t + e_t, with the roles r_t of a word in its context c_t ("Contextualized role interaction for NMT",
    section 3).

    dense: r_t = tanh(W c_t + b). softmax: r_t = softmax over i of u_i · r_t^dense. onehot: a draw from that, relaxed with Gumbel noise
    in training and the likeliest role outside it. c_t is a BiLSTM's on the source side, and an LSTM's on the target side, where it does
    not look ahead. One-hot roles start from a run with softmax ones: `initialize`.
    """

    class Config(ComponentConfig):
        roles: int = Field(32, ge=1, le=1024)
        """How many roles R there are."""
        assignment: Literal["dense", "softmax", "onehot"] = "softmax"
        """How a word takes roles."""
        combination: Literal["full", "rank1", "additive"] = "full"
        """`full`: Σ r_i U_i e. `rank1`: U_o [(U_r r) ⊙ (U_e e)]. `additive`: U r, the contextualized baseline without multiplication."""
        residual: bool = True
        """Add e itself: one more role, fixed, with the identity."""
        context: Literal["lstm", "cnn"] = "lstm"
        """What reads the context of a word."""
        context_size: int | None = Field(None, ge=2, le=65536)
        """Size of c_t, which two directions share half and half; by default half that of the embeddings, for the paper's is small."""
        width: int = Field(7, ge=1, le=1001)
        """Words that `cnn` sees: around a word on the source side, up to it on the target side; odd."""
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout on r_t."""
        temperature: Temperature = Temperature()
        """Temperature τ of `onehot`."""

        @model_validator(mode="after")
        def _halves_and_middles(self) -> Roles.Config:
            if self.context_size and self.context_size % 2:
                raise ValueError(
                    f"context_size {self.context_size} cannot be shared by two directions; use an even number"
                )
            if self.width % 2 == 0:
                raise ValueError(f"width {self.width} has no middle word; use an odd number")
            return self

    def __init__(self, config: Config, *, size: int, memory_size: int | None) -> None:
        super().__init__(config, size=size, memory_size=memory_size)
        self.config, roles, context = (
            config,
            config.roles,
            config.context_size or 2 * max(1, size // 4),
        )
        given = {"input_size": size, "size": context, "causal": memory_size is not None}
        self.context = (
            LstmContext(**given)
            if config.context == "lstm"
            else CnnContext(**given, width=config.width)
        )
        self.dense = Linear(context, roles)
        if config.assignment != "dense":
            self.choices = Linear(roles, roles, bias=False)  # u_i, one below the other
        if config.assignment == "onehot":
            self.annealed = Annealed(temperature=config.temperature)
        self.dropout = Dropout(config.dropout)
        if config.combination == "full":
            self.matrices = nn.Parameter(
                torch.empty(roles * size, size)
            )  # each U_i transposed, one below the other
            nn.init.normal_(self.matrices, std=size**-0.5)
        elif config.combination == "rank1":
            self.of_roles, self.of_words, self.output = (
                Linear(each, size, bias=False) for each in (roles, size, size)
            )
        else:
            self.of_roles = Linear(roles, size, bias=False)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        return self.transform_words(embedded, self.assign_roles(embedded, mask))

    def assign_roles(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """The roles of every word: (B, S, E), (B, S) -> (B, S, R)"""
        return self.roles_from_context(self.context(embedded, mask))

    def roles_from_context(self, context: Tensor) -> Tensor:
        """r of words in their contexts (..., C): (..., R)"""
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
        """ẽ of words (..., E) with the roles (..., R) that they take."""
        roles = self.dropout(roles)
        if self.config.combination == "additive":
            found = self.of_roles(roles)
        elif self.config.combination == "rank1":
            found = self.output(self.of_roles(roles) * self.of_words(words))
        else:
            onehot = self.config.assignment == "onehot" and not self.training
            dropped = (
                self.training and self.config.dropout > 0 and words.device.type == "cpu"
            )  # elsewhere one large product is faster
            found = mix_roles(roles, words, self.matrices, sparse=onehot or dropped)
        return found + words if self.config.residual else found

    def start(self, memory: Memory) -> Any:
        return self.context.start(len(memory.states), memory.states)

    def step(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        context, state = self.context.step(words, state)
        return self.transform_words(words, self.roles_from_context(context)), state

    def reorder(self, state: Any, rows: Tensor) -> Any:
        return self.context.reorder(state, rows)
