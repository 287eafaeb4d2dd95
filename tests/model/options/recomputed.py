"""Graph convolutions of Bastings et al. in plain NumPy, written from the text of the papers.

One sentence, one word at a time, float64. Parameters come in a dictionary by the names of the
option. Formulas of gates and directions: Marcheggiani and Titov 2017, section 3.
"""

from __future__ import annotations

import numpy
from numpy import ndarray

from tests.model.decoders.recomputed import lstm, sigmoid, softmax

Parameters = dict[str, ndarray]


def read_both_ways(parameters: Parameters, words: ndarray) -> ndarray:
    """BiLSTM ŝ_1 … ŝ_m: states of both directions, one behind the other."""
    halves = []
    for name, order in (("words.forwards", 1), ("words.backwards", -1)):
        size = parameters[f"{name}.weight_hh_l0"].shape[1]
        state = numpy.zeros(size)
        cell = numpy.zeros(size)
        states = []
        for word in words[::order]:
            state, cell = lstm(parameters, name, word, state, cell)
            states.append(state)
        halves.append(numpy.array(states[::order]))
    return numpy.concatenate(halves, axis=1)


def latent_heads(parameters: Parameters, words: ndarray, temperature: float) -> ndarray:
    """A_i = softmax of q_i · k_k / (τ √d_k) over all other words k."""
    states = read_both_ways(parameters, words)
    graph = numpy.zeros((len(words), len(words)))
    for i, state in enumerate(states):
        query = parameters["queries.weight"] @ state
        others = [k for k in range(len(words)) if k != i]
        scores = []
        for k in others:
            key = parameters["keys.weight"] @ states[k]
            scores.append(query @ key / numpy.sqrt(len(query)) / temperature)
        graph[i, others] = softmax(numpy.array(scores))
    return graph


def uniform_heads(length: int) -> ndarray:
    return (numpy.ones((length, length)) - numpy.eye(length)) / (length - 1)


def convolve(
    parameters: Parameters,
    states: ndarray,
    graph: ndarray | None,
    *,
    weights: str,
    directions: str,
    gates: bool,
) -> ndarray:
    """s'_i = s_i + ReLU(Σ over all messages to word i)."""
    own = parameters["selves.0.weight"]
    sums = []
    for i, state in enumerate(states):
        gate = gate_of(parameters, "selves", state, gates)
        total = gate * (own @ state + parameters["selves.0.bias"])
        for k, other in enumerate(states):
            if graph is None:
                continue
            total = total + graph[i, k] * message(
                parameters, "neighbours", other, own, weights, gates
            )
            if directions == "both":
                total = total + graph[k, i] * message(
                    parameters, "dependents", other, own, weights, gates
                )
        sums.append(total)
    return states + numpy.maximum(numpy.array(sums), 0)


def message(
    parameters: Parameters,
    name: str,
    state: ndarray,
    own: ndarray,
    weights: str,
    gates: bool,
) -> ndarray:
    """g (W s + b) of a word; with shared weights W is the matrix of the word itself."""
    gate = gate_of(parameters, name, state, gates)
    if weights == "shared":
        return gate * (own @ state)
    product = parameters[f"{name}.0.weight"] @ state
    if f"{name}.0.bias" in parameters:
        product = product + parameters[f"{name}.0.bias"]
    return gate * product


def gate_of(parameters: Parameters, name: str, state: ndarray, gates: bool) -> float:
    """σ(v · s + c), a number between 0 and 1; 1 without gates."""
    if not gates:
        return 1.0
    weight = parameters[f"{name}_gates.0.weight"][0]
    bias = parameters[f"{name}_gates.0.bias"][0]
    return sigmoid(weight @ state + bias)


def convolutional_encoder(
    parameters: Parameters,
    states: ndarray,
    *,
    form: str,
    width: int,
) -> ndarray:
    """Layers of tanh over words that include their positions; words outside are 0."""
    layer = 0
    while f"convolutions.{layer}.weight" in parameters:
        kernel = parameters[f"convolutions.{layer}.weight"]  # (D, D, width)
        bias = parameters[f"convolutions.{layer}.bias"]
        rows = []
        for place, state in enumerate(states):
            total = bias.copy()
            for offset in range(width):
                other = place + offset - width // 2
                if 0 <= other < len(states):
                    total = total + kernel[:, :, offset] @ states[other]
            if form == "tanh":
                rows.append(numpy.tanh(state + total))
            else:
                rows.append(state + numpy.tanh(total))
        states = numpy.array(rows)
        layer += 1
    return states
