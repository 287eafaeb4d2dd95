"""A latent graph over the words of a sentence, that the states of an encoder are convolved along."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.annealing import Annealed, Decay
from polyglot.layers.dropout import Dropout
from polyglot.layers.gumbel_softmax import concrete
from polyglot.layers.linear import Linear
from polyglot.layers.recurrent import BidirectionalLayer
from polyglot.model.options.base import OPTIONS, StatesOption


class Temperature(Decay):
    """Temperature τ of the graph (section 3.2)."""

    start: float = Field(2.0, gt=0, le=1e6)
    """τ before the first update."""
    decay: float = Field(0.99, gt=0, le=1)
    """What τ is multiplied with …"""
    every: int = Field(2500, ge=1)
    """… after so many updates of the run, each time: in the paper an epoch, of 160 000 sentences in batches of 64."""
    minimum: float = Field(0.01, gt=0)
    """τ does not fall below this; the paper has no bound."""


@OPTIONS.register("latent_graph")
class LatentGraph(StatesOption):
    """s'_i = s_i + ReLU(W_self s_i + Σ_k A_ik W_nbr s_k + b) on a graph A of its own (Bastings et al., sections 2 and 3).

    A_i is the distribution of word i's head: a Concrete sample of temperature τ, without noise outside training, from the head potentials
    q_i · k_k / √d_k of a BiLSTM of its own, −∞ for the word itself. Nothing but A passes from that BiLSTM to the states.
    """

    class Config(ComponentConfig):
        edges: Literal["latent", "none"] = "latent"
        """`none` leaves A out, W_nbr too: the baseline of equal size, with self-loops only."""
        layers: int = Field(1, ge=1, le=256)
        """How many convolutions there are, along one graph."""
        hidden_size: int | None = Field(None, ge=2, le=65536)
        """Size of the BiLSTM, which its two directions share half and half; by default that of the embeddings."""
        head_size: int = Field(256, ge=1, le=65536)
        """Size d_k of keys and queries."""
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout on the states of the BiLSTM, and on what each convolution adds."""
        temperature: Temperature = Temperature()
        """Temperature τ of the graph."""

        @model_validator(mode="after")
        def _two_equal_halves(self) -> LatentGraph.Config:
            if self.hidden_size and self.hidden_size % 2:
                raise ValueError(
                    f"hidden_size {self.hidden_size} cannot be shared by two directions; use an even number"
                )
            return self

    def __init__(self, config: Config, *, input_size: int, size: int) -> None:
        super().__init__(config, input_size=input_size, size=size)
        self.latent, self.head_size = config.edges == "latent", config.head_size
        self.selves = nn.ModuleList(Linear(size, size) for _ in range(config.layers))
        self.dropout = Dropout(config.dropout)
        if self.latent:
            hidden = config.hidden_size or input_size + input_size % 2
            self.annealed = Annealed(temperature=config.temperature)
            self.words = BidirectionalLayer("lstm", input_size=input_size, size=hidden)
            self.keys, self.queries = (
                Linear(hidden, config.head_size, bias=False) for _ in range(2)
            )
            self.neighbours = nn.ModuleList(
                Linear(size, size, bias=False) for _ in range(config.layers)
            )

    def forward(self, states: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
        graph = self.graph(embedded, mask) if self.latent else None
        for number, own in enumerate(self.selves):
            change = own(states)
            if graph is not None:
                change = change + graph.to(states.dtype) @ self.neighbours[number](states)
            states = states + self.dropout(change.relu())
        return states * mask.unsqueeze(-1)

    def graph(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """A, whose row i is the distribution of word i's head; of a word without candidates all zeros. (B, S, E), (B, S) -> (B, S, S)"""
        words = self.dropout(self.words(embedded, mask))
        potentials = self.queries(words) @ self.keys(words).transpose(1, 2) * self.head_size**-0.5
        others = ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        candidates = mask.unsqueeze(1) & mask.unsqueeze(2) & others
        return concrete(potentials, self.annealed.temperature, candidates, noisy=self.training)
