"""Whole models of the papers equal `paper_formulas`, with all of their gradients, in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy
import pytest
import torch
from torch import nn

from polyglot.config.loading import load_config
from polyglot.model.losses import (
    Criterion,
    InitialWordsLoss,
    RemainingWordsLoss,
    TranslationLoss,
)
from polyglot.model.memory import Memory
from polyglot.model.options import LatentGraph
from polyglot.model.translation_model import Output
from polyglot.tasks.batch import EOS
from tests.builders.models import random_batch, tiny_model
from tests.model import paper_formulas as formulas

TOLERANCE = 1e-6
"""Absolute for numbers below 1, else relative: the losses themselves are summed in float32."""
STEP = 1e-5
"""Distance of a central difference; its error is about the square."""
DIRECTIONS = 2
"""Random directions in which the gradient of each parameter is measured."""
LENGTHS = ((3, 2), (1, 3))
"""Source and target words of the sentences: a sentence of one word, and padding on both sides."""
GATES = {"LSTM": ("input", "forget", "content", "output"), "GRU": ("reset", "update", "content")}
"""Order of PyTorch's gates."""


def random_double(module: nn.Module) -> nn.Module:
    """Draw all parameters from ±1, so that no term is negligible."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.double().parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=generator).double() * 2 - 1)
    return module.eval()


def arrays_of(module: nn.Module) -> dict[str, numpy.ndarray]:
    """Copies of all parameters. The formulas read views of them, and so see later changes."""
    return {name: part.detach().numpy().copy() for name, part in module.named_parameters()}


def recurrence(
    arrays: Mapping[str, numpy.ndarray], name: str, kind: str, layer: int = 0
) -> formulas.Parameters:
    """Parameters of each gate of one layer."""
    parameters = {}
    for letter, part in {
        "W": "weight_ih",
        "U": "weight_hh",
        "b": "bias_ih",
        "d": "bias_hh",
    }.items():
        stacked = arrays[f"{name}.{part}_l{layer}"]
        for gate, rows in zip(GATES[kind], numpy.split(stacked, len(GATES[kind])), strict=True):
            parameters[f"{letter}_{gate}"] = rows
    return parameters


def additive(arrays: Mapping[str, numpy.ndarray], name: str) -> formulas.Parameters:
    return {
        "W": arrays[f"{name}.query.weight"],
        "U": arrays[f"{name}.key.weight"],
        "b": arrays[f"{name}.key.bias"],
        "v": arrays[f"{name}.energy.weight"][0],
    }


def projection(arrays: Mapping[str, numpy.ndarray], name: str) -> formulas.Parameters:
    return {"W": arrays[f"{name}.weight"], "b": arrays[f"{name}.bias"]}


def assert_close(found: object, expected: object, name: str = "") -> None:
    assert numpy.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE), (name, found, expected)


def check_gradients(
    module: nn.Module, arrays: dict[str, numpy.ndarray], loss: Callable[[], float]
) -> None:
    """Assert that autograd agrees with central differences of `loss` in every parameter."""
    random = numpy.random.default_rng(0)
    for name, parameter in module.named_parameters():
        values = arrays[name]
        kept = values.copy()
        for _ in range(DIRECTIONS):
            direction = random.standard_normal(values.shape)
            values[...] = kept + STEP * direction
            above = loss()
            values[...] = kept - STEP * direction
            below = loss()
            values[...] = kept

            expected = (above - below) / (2 * STEP)
            found = 0.0 if parameter.grad is None else (parameter.grad.numpy() * direction).sum()
            assert_close(found, expected, name)


# Decoders of Weng et al. and Choi et al., with word prediction

DECODERS = {
    "wmt14/words": ("GRU", formulas.rnnsearch_gru, formulas.tanh_layer),
    "wmt14/words_program": ("GRU", formulas.conditional_gru, formulas.tanh_layer),
    "wmt14/context": ("LSTM", formulas.rnnsearch_lstm, formulas.maxout_layer),
}
"""Cell, decoder and output layer of a shipped configuration."""


def decoder_of(config_name: str) -> nn.Module:
    """The decoder of a shipped configuration, with tiny sizes and word prediction."""
    sizes = [
        "model.embedding.size=3",
        "model.encoder.size=4",
        "model.decoder.size=3",
        "model.decoder.output_size=2",
        "model.options.decoder=[word_prediction]",
    ]
    config = load_config(config_name, sizes)
    model = tiny_model(config.model, [str(config.tasks[0].pair)])
    (decoder,) = model.decoders.values()
    return random_double(decoder)


def decoder_parameters(arrays: dict[str, numpy.ndarray], kind: str) -> formulas.Parameters:
    parameters = {
        "attention": additive(arrays, "body.attention"),
        "layer": {
            "U": arrays["body.state_output.weight"],
            "b": arrays["body.state_output.bias"],
            "C": arrays["body.context_output.weight"],
            "V": arrays["body.word_output.weight"],
        },
        "output": projection(arrays, "output"),
        "prepare": arrays["options.word_prediction.states.state.weight"],
        "prepare_bias": arrays["options.word_prediction.states.state.bias"],
    }
    first = recurrence(arrays, "body.recurrence", kind)
    if "body.context_recurrence.weight_ih_l0" in arrays:
        parameters["first"] = first
        parameters["second"] = recurrence(arrays, "body.context_recurrence", kind)
    else:
        parameters["cell"] = first
    return parameters


def initial_predictor(arrays: dict[str, numpy.ndarray], state_size: int) -> formulas.Parameters:
    """WP-E: t(s₀, c_p) = tanh(U s₀ + C c_p + b)."""
    prefix = "options.word_prediction.initial"
    combine = arrays[f"{prefix}.combine.weight"]
    return {
        "attention": additive(arrays, f"{prefix}.attention"),
        "layer": {
            "U": combine[:, :state_size],
            "C": combine[:, state_size:],
            "b": arrays[f"{prefix}.combine.bias"],
        },
        "output": projection(arrays, f"{prefix}.output"),
    }


@pytest.mark.parametrize("config_name", DECODERS)
def test_decoder_and_word_prediction_equal_the_formulas(config_name):
    """Translation loss, L_E and L_D of the configurations of Weng et al. and Choi et al."""
    kind, decode, layer = DECODERS[config_name]
    decoder = decoder_of(config_name)
    batch = random_batch(lengths=LENGTHS)
    row_counts = [4, 2]
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(2, 4, 4, generator=generator, dtype=torch.float64)
    memory = Memory(rows, mask=torch.arange(4) < torch.tensor(row_counts).unsqueeze(1))

    states, inner = decoder.with_inner_states(batch.target_in, batch.target_mask, memory)
    output = Output(states, decoder, memory, inner)
    found = []
    for loss_type in (TranslationLoss, InitialWordsLoss, RemainingWordsLoss):
        loss = loss_type(loss_type.Config())(output, batch)
        found.append(loss * batch.target_tokens)
    sum(found).backward()

    arrays = arrays_of(decoder)
    parameters = decoder_parameters(arrays, kind)
    predictor = initial_predictor(arrays, state_size=3)

    def losses() -> numpy.ndarray:
        totals = numpy.zeros(3)
        for row, (_, word_count) in enumerate(LENGTHS):
            vectors = list(rows[row, : row_counts[row]].numpy())
            inputs = batch.target_in[row, : word_count + 1].tolist()
            targets = batch.target_out[row, : word_count + 1].tolist()
            assert targets[-1] == EOS
            words = [arrays["embedding.table.weight"][word] for word in inputs]
            mean = numpy.mean(vectors, axis=0)
            start = numpy.tanh(
                arrays["body.initial.0.weight"] @ mean + arrays["body.initial.0.bias"]
            )
            first_state = (start, start) if kind == "LSTM" else (start,)
            states, contexts, scores = decode(words, vectors, *first_state, parameters, layer)
            predicted = targets[:-1]  # the end is not a word
            totals += [
                formulas.translation_loss(scores, targets),
                formulas.initial_word_loss(
                    start, vectors, predicted, predictor, formulas.tanh_layer
                ),
                formulas.states_word_loss(states, contexts, words, predicted, parameters, layer),
            ]
        return totals

    assert_close([loss.item() for loss in found], losses())
    check_gradients(decoder, arrays, lambda: losses().sum())


# Vázquez et al.


def test_model_of_the_bridge_paper_equals_the_formulas():
    """Encoder, bridge, initial state, decoder and loss of the shipped configuration."""
    sizes = [
        "model.embedding.size=3",
        "model.encoder.size=4",
        "model.bridge={type: attention, heads: 2, hidden_size: 3}",
        "model.decoder.size=4",
    ]
    config = load_config("multi30k/paper", sizes)
    model = random_double(tiny_model(config.model, ["de-en"]))
    batch = random_batch(lengths=LENGTHS)
    output = model(batch)
    losses = Criterion(config.losses)(output, batch)
    losses.total.backward()

    arrays = arrays_of(model)
    encoder_layers = []
    for layer in range(2):
        prefix = f"encoders.de.body.layers.{layer}"
        encoder_layers.append(
            {
                "forward": recurrence(arrays, f"{prefix}.forwards", "LSTM"),
                "backward": recurrence(arrays, f"{prefix}.backwards", "LSTM"),
            }
        )
    parameters = {
        "source_words": arrays["embeddings.de.weight"],
        "target_words": arrays["embeddings.en.weight"],
        "encoder": encoder_layers,
        "bridge": {"W1": arrays["bridge.hidden.weight"], "W2": arrays["bridge.heads.weight"]},
        "decoder": {
            "layers": [
                recurrence(arrays, "decoders.en.body.recurrence", "LSTM", layer)
                for layer in range(2)
            ],
            "attention": {"W": arrays["decoders.en.body.attention.query.weight"].T},
            "combine": arrays["decoders.en.body.combine.weight"],
            "output": projection(arrays, "decoders.en.output"),
        },
    }

    def sentence(row: int) -> tuple[float, float, list[numpy.ndarray]]:
        source_count, word_count = LENGTHS[row]
        return formulas.bridge_model(
            batch.source[row, :source_count].tolist(),
            batch.target_in[row, : word_count + 1].tolist(),
            batch.target_out[row, : word_count + 1].tolist(),
            parameters,
        )

    def total() -> float:
        """Mean over the sentences of -log p(y given x) + λ ‖A·Aᵀ - I‖², with λ = 1."""
        return sum(sum(sentence(row)[:2]) for row in range(len(LENGTHS))) / len(LENGTHS)

    found_scores = output.projection(output.states).log_softmax(dim=2).detach().numpy()
    for row in range(len(LENGTHS)):
        expected = numpy.array(sentence(row)[2])
        assert_close(found_scores[row, : len(expected)], expected)
    assert_close(losses.total.item(), total())
    check_gradients(model, arrays, total)


# Bastings et al.

GRAPHS = {
    "separate": {},
    "shared": {"weights": "shared"},
    "both directions": {"directions": "both", "gates": True},
}
"""Settings of the graph convolution by their reading."""
MATRICES = {"self": "selves", "neighbour": "neighbours", "back": "dependents"}
"""Names of the module by those of the formula."""


def graph_parameters(
    arrays: dict[str, numpy.ndarray], settings: Mapping[str, object]
) -> formulas.Parameters:
    parameters = {}
    for direction, name in MATRICES.items():
        names = {
            "W": f"{name}.0.weight",
            "b": f"{name}.0.bias",
            "v": f"{name}_gates.0.weight",
            "c": f"{name}_gates.0.bias",
        }
        for letter, key in names.items():
            if key in arrays:
                parameters[f"{letter}_{direction}"] = arrays[key]
    if settings.get("weights") == "shared":
        parameters["W_neighbour"] = parameters["W_self"]
    parameters["W_query"] = arrays["queries.weight"]
    parameters["W_key"] = arrays["keys.weight"]
    return parameters


@pytest.mark.parametrize("reading", GRAPHS)
def test_latent_graph_equals_the_formulas(reading):
    """Graph encoder, head potentials, expected graph and convolution, also of a single word."""
    settings = GRAPHS[reading]
    config = LatentGraph.Config(hidden_size=2, head_size=2, **settings)
    option = random_double(LatentGraph(config, input_size=3, size=4))
    lengths = (3, 1)
    random = numpy.random.default_rng(1)
    words = random.standard_normal((2, 3, 3))
    states = random.standard_normal((2, 3, 4))
    weights = random.standard_normal((2, 3, 4))
    mask = torch.arange(3) < torch.tensor(lengths).unsqueeze(1)
    outputs = option(torch.tensor(states), torch.tensor(words), mask)
    (outputs * torch.tensor(weights)).sum().backward()

    arrays = arrays_of(option)
    parameters = graph_parameters(arrays, settings)
    layer = {
        "forward": recurrence(arrays, "words.forwards", "LSTM"),
        "backward": recurrence(arrays, "words.backwards", "LSTM"),
    }

    def expected(row: int) -> numpy.ndarray:
        read = formulas.bidirectional_lstm(list(words[row, : lengths[row]]), [layer])
        potentials = formulas.head_potentials(read, parameters)
        graph = formulas.expected_graph(potentials, temperature=2.0)
        convolved = formulas.graph_convolution(list(states[row, : lengths[row]]), graph, parameters)
        return numpy.array(convolved)

    for row, length in enumerate(lengths):
        assert_close(outputs[row, :length].detach().numpy(), expected(row))
    check_gradients(
        option,
        arrays,
        lambda: sum((expected(row) * weights[row, : lengths[row]]).sum() for row in range(2)),
    )
