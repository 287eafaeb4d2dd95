"""Latent graph over the words of a sentence, with graph convolutions on the encoder states."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, LayerCount, Size
from polyglot.layers.annealing import Annealed, Decay
from polyglot.layers.dropout import Dropout
from polyglot.layers.gumbel_softmax import concrete
from polyglot.layers.linear import Linear
from polyglot.layers.recurrent import BidirectionalLayer
from polyglot.model.options.base import OPTIONS, StatesOption


class GraphTemperature(Decay):
    """Temperature τ of the graph (Bastings et al. 2019, section 3.2)."""

    start: float = Field(2.0, gt=0, le=1e6)
    """τ before the first update."""
    decay: float = Field(0.99, gt=0, le=1)
    """Factor by which τ is multiplied at each decay."""
    every: int = Field(2500, ge=1)
    """Number of updates between two decays. The default is one epoch of Bastings et al. 2019:
    160 000 sentences in batches of 64."""
    minimum: float = Field(0.01, gt=0)
    """Lower bound of τ; Bastings et al. 2019 have no bound."""


@OPTIONS.register("latent_graph")
class LatentGraph(StatesOption):
    """s'_i = s_i + ReLU(W_self s_i + Σ_k A_ik W_nbr s_k + b) with a latent graph A.

    Source: Bastings et al. 2019, sections 2 and 3. A_i is the distribution of the head of word i: a
    Concrete sample of temperature τ, without noise outside training, from the head potentials
    q_i · k_k / √d_k, which are −∞ for the word itself. Keys and queries come from a separate
    BiLSTM over the embeddings; its outputs reach the states only through A.
    """

    class Config(ComponentConfig):
        used_with = {
            "hidden_size": ("edges", ("latent",)),
            "head_size": ("edges", ("latent",)),
            "temperature": ("edges", ("latent",)),
        }

        edges: Literal["latent", "none"] = "latent"
        """Edges of the graph. `none` removes A and W_nbr: a baseline with the same layers and state
        size, but only self-loops."""
        layers: LayerCount = 1
        """Number of graph convolutions; all of them use the same graph."""
        hidden_size: int | None = Field(None, ge=2, le=65536)
        """Size of the BiLSTM, half for each direction; by default the embedding size."""
        head_size: Size = 256
        """Size d_k of the queries and keys of the head selection."""
        dropout: DropoutRate = 0.3
        """Dropout on the states of the BiLSTM, and on the output of each convolution."""
        temperature: GraphTemperature = GraphTemperature()
        """Temperature τ of the graph."""

        @model_validator(mode="after")
        def _validate_hidden_size(self) -> LatentGraph.Config:
            if self.hidden_size and self.hidden_size % 2:
                raise ValueError(
                    f"hidden_size {self.hidden_size} cannot be shared by two directions; "
                    "use an even number"
                )
            return self

    def __init__(self, config: Config, *, input_size: int, size: int) -> None:
        super().__init__(config, input_size=input_size, size=size)
        self.latent = config.edges == "latent"
        self.head_size = config.head_size
        self.selves = nn.ModuleList(Linear(size, size) for _ in range(config.layers))  # W_self
        self.dropout = Dropout(config.dropout)
        if self.latent:
            # Each direction has half of the size, so an odd embedding size is rounded up.
            even_input_size = input_size + input_size % 2
            hidden_size = config.hidden_size or even_input_size
            self.annealed = Annealed(temperature=config.temperature)
            # The BiLSTM; checkpoints call it `words`.
            self.words = BidirectionalLayer("lstm", input_size=input_size, size=hidden_size)
            self.keys = Linear(hidden_size, config.head_size, bias=False)
            self.queries = Linear(hidden_size, config.head_size, bias=False)
            self.neighbours = nn.ModuleList(
                Linear(size, size, bias=False) for _ in range(config.layers)
            )

    def forward(self, states: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
        graph = self.graph(embedded, mask) if self.latent else None
        for layer, self_loop in enumerate(self.selves):
            update = self_loop(states)
            if graph is not None:
                update = update + graph.to(states.dtype) @ self.neighbours[layer](states)
            states = states + self.dropout(update.relu())
        return states * mask.unsqueeze(-1)

    def graph(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return A; row i is the distribution of the head of word i. (B, S, E), (B, S) -> (B, S, S)

        The row of a word without candidates, in a sentence of one word, is 0.
        """
        words = self.dropout(self.words(embedded, mask))
        potentials = self.queries(words) @ self.keys(words).transpose(1, 2) * self.head_size**-0.5
        is_other_word = ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        candidates = mask.unsqueeze(1) & mask.unsqueeze(2) & is_other_word
        return concrete(potentials, self.annealed.temperature, candidates, noisy=self.training)
