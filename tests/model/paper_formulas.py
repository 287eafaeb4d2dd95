"""Models of the papers in plain NumPy, written from the papers alone, one sentence at a time.

The formulas were written without reading the modules. They share nothing with the modules, not even
the names of parameters: `test_paper_formulas` connects the two. Nothing is padded, so a module that
reads its padding gives other numbers.

A matrix has the shape (output, input). `p` has the parameters of a formula by name; `memory` is the
list of the vectors h_i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Parameters = dict[str, Any]


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max())
    return exponentials / exponentials.sum()


def log_softmax(x: Array) -> Array:
    shifted = x - x.max()
    return shifted - np.log(np.exp(shifted).sum())


# Recurrent cells


def lstm(x: Array, state: Array, cell: Array, p: Parameters) -> tuple[Array, Array]:
    """Return the new state and cell of an LSTM with a forget gate."""

    def gate(name: str) -> Array:
        return p[f"W_{name}"] @ x + p[f"b_{name}"] + p[f"U_{name}"] @ state + p[f"d_{name}"]

    kept = sigmoid(gate("forget")) * cell
    added = sigmoid(gate("input")) * np.tanh(gate("content"))
    new_cell = kept + added
    return sigmoid(gate("output")) * np.tanh(new_cell), new_cell


def gru(x: Array, state: Array, p: Parameters) -> Array:
    """Return the new state of a GRU as in dl4mt: the reset gate multiplies the product U·s."""
    reset = sigmoid(p["W_reset"] @ x + p["b_reset"] + p["U_reset"] @ state + p["d_reset"])
    update = sigmoid(p["W_update"] @ x + p["b_update"] + p["U_update"] @ state + p["d_update"])
    recurrent = p["U_content"] @ state + p["d_content"]
    content = np.tanh(p["W_content"] @ x + p["b_content"] + reset * recurrent)
    return update * state + (1.0 - update) * content


def lstm_states(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """Return the state after each input; state and cell start with zeros."""
    size = p["U_input"].shape[1]
    state = np.zeros(size)
    cell = np.zeros(size)
    states = []
    for x in inputs:
        state, cell = lstm(x, state, cell, p)
        states.append(state)
    return states


def bidirectional_lstm(inputs: Sequence[Array], layers: Sequence[Parameters]) -> list[Array]:
    """Return the states of the last layer, with both directions concatenated.

    A layer reads the concatenated states of the layer below.
    """
    states = list(inputs)
    for layer in layers:
        forward = lstm_states(states, layer["forward"])
        backward = lstm_states(states[::-1], layer["backward"])[::-1]
        states = [np.concatenate(pair) for pair in zip(forward, backward, strict=True)]
    return states


# Attention


def additive_attention(query: Array, memory: Sequence[Array], p: Parameters) -> Array:
    """c = Σ α_i h_i, α = softmax(v · tanh(W s + U h_i + b))  (Bahdanau et al.)."""
    energies = [p["v"] @ np.tanh(p["W"] @ query + p["U"] @ h + p["b"]) for h in memory]
    weights = softmax(np.array(energies))
    return sum(weight * h for weight, h in zip(weights, memory, strict=True))


def general_attention(query: Array, memory: Sequence[Array], p: Parameters) -> Array:
    """c = Σ α_i h_i, α = softmax(s · W h_i)  (Luong et al., "general")."""
    energies = [query @ (p["W"] @ h) for h in memory]
    weights = softmax(np.array(energies))
    return sum(weight * h for weight, h in zip(weights, memory, strict=True))


# Output layers: equations 8 and 9 of Weng et al., which the text of the paper has lost, as in dl4mt


def tanh_layer(state: Array, context: Array, word: Array | None, p: Parameters) -> Array:
    """tanh(U s + C c + V y + b)  (dl4mt)."""
    total = p["U"] @ state + p["C"] @ context + p["b"]
    if word is not None:
        total = total + p["V"] @ word
    return np.tanh(total)


def maxout_layer(state: Array, context: Array, word: Array | None, p: Parameters) -> Array:
    """Maximum of each pair of neighbours (Bahdanau et al., appendix A.2.2)."""
    total = p["U"] @ state + p["C"] @ context + p["b"]
    if word is not None:
        total = total + p["V"] @ word
    maxima = []
    for k in range(len(total) // 2):
        maxima.append(max(total[2 * k], total[2 * k + 1]))
    return np.array(maxima)


def word_scores(hidden: Array, p: Parameters) -> Array:
    return p["W"] @ hidden + p["b"]


# Decoders: each returns the states s_j, the contexts c_j and the log-probabilities

Steps = tuple[list[Array], list[Array], list[Array]]
Layer = Callable[[Array, Array, Array | None, Parameters], Array]


def conditional_gru(
    words: Sequence[Array], memory: Sequence[Array], start: Array, p: Parameters, layer: Layer
) -> Steps:
    """dl4mt: s' = GRU1(y, s), c = att(s'), s = GRU2(c, s')."""
    state = start
    states = []
    contexts = []
    scores = []
    for word in words:
        middle = gru(word, state, p["first"])
        context = additive_attention(middle, memory, p["attention"])
        state = gru(context, middle, p["second"])
        states.append(state)
        contexts.append(context)
        hidden = layer(state, context, word, p["layer"])
        scores.append(log_softmax(word_scores(hidden, p["output"])))
    return states, contexts, scores


def rnnsearch_gru(
    words: Sequence[Array], memory: Sequence[Array], start: Array, p: Parameters, layer: Layer
) -> Steps:
    """Bahdanau et al.: c = att(s_{j-1}), s = GRU([y; c], s_{j-1})."""
    state = start
    states = []
    contexts = []
    scores = []
    for word in words:
        context = additive_attention(state, memory, p["attention"])
        state = gru(np.concatenate([word, context]), state, p["cell"])
        states.append(state)
        contexts.append(context)
        hidden = layer(state, context, word, p["layer"])
        scores.append(log_softmax(word_scores(hidden, p["output"])))
    return states, contexts, scores


def rnnsearch_lstm(
    words: Sequence[Array],
    memory: Sequence[Array],
    start: Array,
    start_cell: Array,
    p: Parameters,
    layer: Layer,
) -> Steps:
    """Choi et al.: the decoder of Bahdanau et al. with an LSTM in place of the GRU."""
    state = start
    cell = start_cell
    states = []
    contexts = []
    scores = []
    for word in words:
        context = additive_attention(state, memory, p["attention"])
        state, cell = lstm(np.concatenate([word, context]), state, cell, p["cell"])
        states.append(state)
        contexts.append(context)
        hidden = layer(state, context, word, p["layer"])
        scores.append(log_softmax(word_scores(hidden, p["output"])))
    return states, contexts, scores


def input_feeding_lstm(
    words: Sequence[Array], memory: Sequence[Array], start: Array, p: Parameters
) -> list[Array]:
    """Luong et al.: stacked LSTMs read [y; h̃], with h̃ = tanh(W [c; h]) of the step before.

    Every state and every cell starts with `start`. Returns the log-probabilities of each step.
    """
    count = len(p["layers"])
    states = [start] * count
    cells = [start] * count
    attentional = np.zeros_like(start)
    scores = []
    for word in words:
        x = np.concatenate([word, attentional])
        for index in range(count):
            states[index], cells[index] = lstm(x, states[index], cells[index], p["layers"][index])
            x = states[index]
        context = general_attention(x, memory, p["attention"])
        attentional = np.tanh(p["combine"] @ np.concatenate([context, x]))
        scores.append(log_softmax(word_scores(attentional, p["output"])))
    return scores


# Losses


def translation_loss(scores: Sequence[Array], target: Sequence[int]) -> float:
    return -sum(step[word] for step, word in zip(scores, target, strict=True))


def initial_word_loss(
    start: Array, memory: Sequence[Array], target: Sequence[int], p: Parameters, layer: Layer
) -> float:
    """L_E = -Σ_j log p(y_j), p = softmax(W · t(s_0, c_p)), c_p = att(s_0).

    Its parameters are not those of the decoder.
    """
    context = additive_attention(start, memory, p["attention"])
    step = log_softmax(word_scores(layer(start, context, None, p["layer"]), p["output"]))
    return -sum(step[word] for word in target)


def states_word_loss(
    states: Sequence[Array],
    contexts: Sequence[Array],
    words: Sequence[Array | None],
    target: Sequence[int],
    p: Parameters,
    layer: Layer,
) -> float:
    """L_D = -Σ_j 1/(T-j+1) Σ_{k≥j} log p_j(y_k), p_j = softmax(W · t(tanh(W_p s_j + b_p), c_j)).

    W and t are those of the decoder; t also reads the word y_{j-1} if the decoder's does.
    """
    length = len(target)
    total = 0.0
    for j in range(length):
        prepared = np.tanh(p["prepare"] @ states[j] + p["prepare_bias"])
        hidden = layer(prepared, contexts[j], words[j], p["layer"])
        step = log_softmax(word_scores(hidden, p["output"]))
        remaining = length - j
        for k in range(j, length):
            total -= step[target[k]] / remaining
    return total


# The bridge and the complete model of Vázquez et al.


def bridge(states: Sequence[Array], p: Parameters) -> tuple[Array, Array]:
    """Return A, the softmax over positions of W2 · ReLU(W1 · Hᵀ), and M = A · H."""
    hidden = np.stack(states)
    scores = p["W2"] @ np.maximum(p["W1"] @ hidden.T, 0.0)
    weights = np.stack([softmax(row) for row in scores])
    return weights, weights @ hidden


def penalty(weights: Array) -> float:
    """‖A·Aᵀ - I‖² (Frobenius)."""
    difference = weights @ weights.T - np.eye(len(weights))
    return float((difference**2).sum())


def bridge_model(
    source: Sequence[int], inputs: Sequence[int], target: Sequence[int], p: Parameters
) -> tuple[float, float, list[Array]]:
    """Translation loss, penalty and log-probabilities of one sentence pair."""
    embedded = [p["source_words"][word] for word in source]
    states = bidirectional_lstm(embedded, p["encoder"])
    weights, rows = bridge(states, p["bridge"])
    words = [p["target_words"][word] for word in inputs]
    scores = input_feeding_lstm(words, list(rows), rows.mean(axis=0), p["decoder"])
    return translation_loss(scores, target), penalty(weights), scores


# Latent graph (Bastings et al.)


def head_potentials(states: Sequence[Array], p: Parameters) -> Array:
    """λ_ik = q_i · k_k / √d_k; -∞ on the diagonal."""
    count = len(states)
    queries = [p["W_query"] @ state for state in states]
    keys = [p["W_key"] @ state for state in states]
    potentials = np.full((count, count), -np.inf)
    for i in range(count):
        for k in range(count):
            if i != k:
                potentials[i, k] = queries[i] @ keys[k] / np.sqrt(len(keys[k]))
    return potentials


def expected_graph(potentials: Array, temperature: float) -> Array:
    """Return A without noise: A_i = softmax(λ_i / τ). A sentence of one word has a row of zeros."""
    if len(potentials) == 1:
        return np.zeros((1, 1))
    return np.stack([softmax(row / temperature) for row in potentials])


def graph_convolution(states: Sequence[Array], graph: Array, p: Parameters) -> list[Array]:
    """s_i + ReLU(W_self s_i + b + Σ_k A_ik W_nbr s_k [+ Σ_k A_ki W_back s_k]).

    Each direction may have its own bias b. It may have a gate σ(v · s_k + c) that multiplies the
    message of s_k (Marcheggiani and Titov).
    """

    def message(direction: str, state: Array) -> Array:
        total = p[f"W_{direction}"] @ state
        if f"b_{direction}" in p:
            total = total + p[f"b_{direction}"]
        if f"v_{direction}" in p:
            total = total * sigmoid(p[f"v_{direction}"] @ state + p[f"c_{direction}"])
        return total

    results = []
    for i, state in enumerate(states):
        total = message("self", state)
        for k, neighbour in enumerate(states):
            total = total + graph[i, k] * message("neighbour", neighbour)
            if "W_back" in p:
                total = total + graph[k, i] * message("back", neighbour)
        results.append(state + np.maximum(total, 0.0))
    return results
