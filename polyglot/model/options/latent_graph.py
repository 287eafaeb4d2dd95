"""Latent graph over the words of a sentence, with graph convolutions on the encoder states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, LayerCount, Size, StepCount
from polyglot.layers.annealing import Annealed, Decay
from polyglot.layers.dropout import Dropout
from polyglot.layers.gumbel_softmax import concrete
from polyglot.layers.linear import Linear, linear
from polyglot.layers.recurrent import BidirectionalLayer
from polyglot.model.options.base import OPTIONS, StatesOption


class GraphTemperature(Decay):
    """Temperature τ of the graph (Bastings et al. 2019, section 3.2)."""

    start: float = Field(2.0, gt=0, le=1e6)
    """τ before the first update."""
    decay: float = Field(0.99, gt=0, le=1)
    """Factor by which τ is multiplied at each decay."""
    every: StepCount = 2500
    """Number of updates between two decays. The default is one epoch of Bastings et al. 2019:
    160 000 sentences in batches of 64."""
    minimum: float = Field(0.01, gt=0)
    """Lower bound of τ; Bastings et al. 2019 have no bound."""


@OPTIONS.register("latent_graph")
class LatentGraph(StatesOption):
    """s'_i = s_i + ReLU(W_self s_i + Σ_k A_ik W_nbr s_k + b) with a latent graph A.

    Source: Bastings et al. 2019, sections 2 and 3. A_i is the distribution of the head of word i.
    It is a Concrete sample of temperature τ from the head potentials q_i · k_k / √d_k, which are −∞
    for the word itself. Outside training it has no noise. Keys and queries come from a separate
    BiLSTM over the embeddings. Its outputs reach the states only through A.

    - `weights: shared` is W (s_i + Σ_k A_ik s_k) + b. With it, the baseline `edges: none` has as
      many parameters as the convolution, as the paper says. With separate weights it has fewer.
    - `directions: both` adds Σ_k A_ki (W_dep s_k + b_dep): the words k whose head is i.
    - `gates` multiplies the message of a word k by g_k = σ(v · s_k + c) (Marcheggiani and Titov
      2017), also its message to itself. Each direction and the self-loop have their own v and c.
    - A direction with its own matrix also has its own bias if `directions: both` or `gates` is set.
      Otherwise b is the only bias.
    """

    class Config(ComponentConfig):
        used_with = {
            "hidden_size": ("edges", ("latent",)),
            "head_size": ("edges", ("latent",)),
            "temperature": ("edges", ("latent",)),
            "weights": ("edges", ("latent", "uniform", "random")),
            "directions": ("edges", ("latent", "uniform", "random")),
        }

        edges: Literal["latent", "uniform", "random", "none"] = "latent"
        """Edges of the graph. `uniform`: all other words are equally probable heads. `random`: one
        head for each word, which depends only on its position and on the length of the sentence.
        `none`: only self-loops, without A and W_nbr."""
        weights: Literal["separate", "shared"] = "separate"
        """`separate`: a matrix for the word itself and one for its neighbours. `shared`: one matrix
        for both, as footnote 5 of Bastings et al. 2019 can be read."""
        directions: Literal["heads", "both"] = "heads"
        """Words that a word reads: its heads, or also its dependents, the words whose head it
        is."""
        gates: bool = False
        """Multiply each message by a gate between 0 and 1."""
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
        self.edges = config.edges
        self.head_size = config.head_size
        self.shares_weights = config.weights == "shared"
        self.has_gates = config.gates
        # Self-loops, W_self and b; `selves` and `words` are names in checkpoints.
        self.selves = _layers(config.layers, size, size, bias=True)
        self.dropout = Dropout(config.dropout)
        if self.is_latent:
            even_input_size = input_size + input_size % 2  # each direction has half of it
            hidden_size = config.hidden_size or even_input_size
            self.annealed = Annealed(temperature=config.temperature)
            self.words = BidirectionalLayer("lstm", input_size=input_size, size=hidden_size)
            self.keys = Linear(hidden_size, config.head_size, bias=False)
            self.queries = Linear(hidden_size, config.head_size, bias=False)

        self.direction_names = []
        if self.has_edges:
            self.direction_names.append("neighbours")
            if config.directions == "both":
                self.direction_names.append("dependents")

        if not self.shares_weights:
            has_bias = config.directions == "both" or config.gates
            for name in self.direction_names:
                # Attributes `neighbours` (W_nbr) and `dependents` (W_dep).
                setattr(self, name, _layers(config.layers, size, size, bias=has_bias))
        if self.has_gates:
            for name in ("selves", *self.direction_names):
                # Attributes `selves_gates`, `neighbours_gates` and `dependents_gates`.
                setattr(self, f"{name}_gates", _layers(config.layers, size, 1, bias=True))

    @property
    def is_latent(self) -> bool:
        """True if the graph is computed from the sentence."""
        return self.edges == "latent"

    @property
    def has_edges(self) -> bool:
        """True if words read other words."""
        return self.edges != "none"

    def forward(self, states: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
        adjacency = []
        if self.has_edges:
            graph = self.graph(embedded, mask)
            adjacency.append(graph)
            if "dependents" in self.direction_names:
                adjacency.append(graph.transpose(1, 2))
        for layer in range(len(self.selves)):
            update = self._convolve(states, adjacency, layer)
            states = states + self.dropout(update.relu())
        return states * mask.unsqueeze(-1)

    def _convolve(self, states: Tensor, adjacency: Sequence[Tensor], layer: int) -> Tensor:
        """Return the sum of the messages to each word (B, S, D), before the ReLU.

        adjacency: (B, S, S) for each direction.
        """
        self_loop = self.selves[layer]
        update = self_loop(states) * self._gate("selves", states, layer)
        for name, edges in zip(self.direction_names, adjacency):
            if self.shares_weights:
                messages = linear(states, self_loop.weight)
            else:
                messages = getattr(self, name)[layer](states)
            messages = messages * self._gate(name, states, layer)
            update = update + edges.to(messages.dtype) @ messages
        return update

    def _gate(self, name: str, states: Tensor, layer: int) -> Tensor | float:
        """Return the gates (B, S, 1) of the messages of one direction; 1 without gates."""
        if not self.has_gates:
            return 1.0
        return getattr(self, f"{name}_gates")[layer](states).sigmoid()

    def graph(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return A; row i is the distribution of the head of word i. (B, S, E), (B, S) -> (B, S, S)

        The row of a word without candidates, in a sentence of one word, is 0.
        """
        is_other_word = ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        candidates = mask.unsqueeze(1) & mask.unsqueeze(2) & is_other_word
        if self.edges == "uniform":
            counts = candidates.sum(dim=-1, keepdim=True)
            return candidates / counts.clamp(min=1)
        if self.edges == "random":
            return _random_heads(candidates)
        words = self.dropout(self.words(embedded, mask))
        products = self.queries(words) @ self.keys(words).transpose(1, 2)
        potentials = products * self.head_size**-0.5
        return concrete(potentials, self.annealed.temperature, candidates, noisy=self.training)


def _layers(count: int, inputs: int, outputs: int, *, bias: bool) -> nn.ModuleList:
    """Create one linear layer for each graph convolution."""
    return nn.ModuleList(Linear(inputs, outputs, bias=bias) for _ in range(count))


def _random_heads(candidates: Tensor) -> Tensor:
    """Choose one of the candidates of each word: (B, S, S) -> (B, S, S), as 0.0 and 1.0.

    The head is the candidate with the largest hash of its position and the position of the word.
    The constants of the hash are arbitrary large numbers. All products are whole numbers below 2⁶³,
    so that the hash is equal on all devices.
    """
    positions = torch.arange(candidates.shape[-1], device=candidates.device)
    numbers = positions.unsqueeze(1) * 73_856_093 + positions * 19_349_663
    for shift in (13, 16):
        numbers = numbers % 2**32
        numbers = (numbers ^ (numbers >> shift)) * 1_274_126_177
    numbers = numbers % 2**32
    chosen = numbers.masked_fill(~candidates, -1).argmax(dim=-1)
    return functional.one_hot(chosen, candidates.shape[-1]).float() * candidates
