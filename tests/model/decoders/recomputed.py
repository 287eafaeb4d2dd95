"""Decoders of Weng et al. 2017 in plain NumPy, written from the text of the paper.

One sentence at a time, float64, no batch. Parameters come in a dictionary by the names of the
model. Gradients are central differences.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy
from numpy import ndarray

STEP = 1e-5
"""Distance of the two points of a central difference: errors are about its square."""


def sigmoid(values: ndarray) -> ndarray:
    return 1 / (1 + numpy.exp(-values))


def softmax(scores: ndarray) -> ndarray:
    exponentials = numpy.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def log_softmax(scores: ndarray) -> ndarray:
    return numpy.log(softmax(scores))


def gru(
    parameters: dict[str, ndarray],
    name: str,
    inputs: ndarray,
    state: ndarray,
    *,
    reset_after: bool = True,
) -> ndarray:
    """Gated recurrent unit: s' = (1 − z) ∘ n + z ∘ s.

    n = tanh(W x + r ∘ (U s)), or tanh(W x + U (r ∘ s)) without `reset_after` (Cho et al. 2014).
    """
    from_input = parameters[f"{name}.weight_ih_l0"] @ inputs + parameters[f"{name}.bias_ih_l0"]
    from_state = parameters[f"{name}.weight_hh_l0"] @ state + parameters[f"{name}.bias_hh_l0"]
    size = len(state)
    reset = sigmoid(from_input[:size] + from_state[:size])
    update = sigmoid(from_input[size : 2 * size] + from_state[size : 2 * size])
    if reset_after:
        from_state_for_new = reset * from_state[2 * size :]
    else:
        weight = parameters[f"{name}.weight_hh_l0"][2 * size :]
        bias = parameters[f"{name}.bias_hh_l0"][2 * size :]
        from_state_for_new = weight @ (reset * state) + bias
    new = numpy.tanh(from_input[2 * size :] + from_state_for_new)
    return (1 - update) * new + update * state


def lstm(
    parameters: dict[str, ndarray], name: str, inputs: ndarray, state: ndarray, cell: ndarray
) -> tuple[ndarray, ndarray]:
    """Long short-term memory: c' = f ∘ c + i ∘ g, h' = o ∘ tanh(c')."""
    gates = parameters[f"{name}.weight_ih_l0"] @ inputs + parameters[f"{name}.bias_ih_l0"]
    gates = gates + parameters[f"{name}.weight_hh_l0"] @ state + parameters[f"{name}.bias_hh_l0"]
    size = len(state)
    input_gate = sigmoid(gates[:size])
    forget_gate = sigmoid(gates[size : 2 * size])
    new = numpy.tanh(gates[2 * size : 3 * size])
    output_gate = sigmoid(gates[3 * size :])
    next_cell = forget_gate * cell + input_gate * new
    return output_gate * numpy.tanh(next_cell), next_cell


def attend(parameters: dict[str, ndarray], state: ndarray, memory: ndarray) -> ndarray:
    """c = Σ_i α_i h_i with α = softmax of v · tanh(W s + U h_i + b)."""
    scores = []
    for row in memory:
        hidden = parameters["attention.query.weight"] @ state
        hidden = (
            hidden + parameters["attention.key.weight"] @ row + parameters["attention.key.bias"]
        )
        scores.append(parameters["attention.energy.weight"][0] @ numpy.tanh(hidden))
    return softmax(numpy.array(scores)) @ memory


def output_layer(
    parameters: dict[str, ndarray], state: ndarray, context: ndarray, word: ndarray, kind: str
) -> ndarray:
    """tanh(W_s s + W_c c + W_y y + b), or the larger number of each two neighbours."""
    combined = parameters["state_output.weight"] @ state + parameters["state_output.bias"]
    combined = combined + parameters["context_output.weight"] @ context
    combined = combined + parameters["word_output.weight"] @ word
    if kind == "maxout":
        return combined.reshape(-1, 2).max(axis=1)
    return numpy.tanh(combined)


def decode(
    parameters: dict[str, ndarray],
    words: ndarray,
    memory: ndarray,
    *,
    kind: str,
    form: str,
    start: str,
    reset_after: bool = True,
) -> tuple[ndarray, ndarray]:
    """States s_j (T, ·) and contexts c_j (T, ·). words (T, E): y_{j-1}; memory (S, ·)"""
    state = memory.mean(axis=0)
    if start == "tanh":
        state = numpy.tanh(parameters["initial.0.weight"] @ state + parameters["initial.0.bias"])
    elif "initial.weight" in parameters:
        state = parameters["initial.weight"] @ state + parameters["initial.bias"]
    cell = state
    options = {"kind": kind, "reset_after": reset_after}

    states = []
    contexts = []
    for word in words:
        if form == "paper":
            context = attend(parameters, state, memory)
            inputs = numpy.concatenate([word, context])
            state, cell = recur(parameters, "recurrence", inputs, state, cell, **options)
        else:
            state, cell = recur(parameters, "recurrence", word, state, cell, **options)
            context = attend(parameters, state, memory)
            name = "context_recurrence"
            state, cell = recur(parameters, name, context, state, cell, **options)
        states.append(state)
        contexts.append(context)
    return numpy.array(states), numpy.array(contexts)


def recur(
    parameters: dict[str, ndarray],
    name: str,
    inputs: ndarray,
    state: ndarray,
    cell: ndarray,
    *,
    kind: str,
    reset_after: bool,
) -> tuple[ndarray, ndarray]:
    if kind == "lstm":
        return lstm(parameters, name, inputs, state, cell)
    return gru(parameters, name, inputs, state, reset_after=reset_after), cell


def gradients(
    function: Callable[[dict[str, ndarray]], float], parameters: dict[str, ndarray]
) -> dict[str, ndarray]:
    """Central differences of a function of all parameters."""
    result = {}
    for name, values in parameters.items():
        gradient = numpy.zeros_like(values)
        for place in numpy.ndindex(values.shape):
            kept = values[place]
            values[place] = kept + STEP
            above = function(parameters)
            values[place] = kept - STEP
            below = function(parameters)
            values[place] = kept
            gradient[place] = (above - below) / (2 * STEP)
        result[name] = gradient
    return result
