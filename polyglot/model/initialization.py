"""Initial values of parameters."""

from __future__ import annotations

import zlib

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from polyglot.model.options import option_vocabulary_parameters
from polyglot.tasks.batch import PAD


class SkipInit(TorchFunctionMode):
    """Context in which new modules do not draw initial values for their parameters.

    The values come later, from `initialize` or from a checkpoint. Functions of `nn.init` call
    methods such as `Tensor.uniform_`. PyTorch does not show these inner calls to this context, so
    `RANDOM_FUNCTIONS` lists the functions of `nn.init`, too.
    """

    RANDOM_FUNCTIONS = {
        Tensor.uniform_,
        Tensor.normal_,
        nn.init.uniform_,
        nn.init.normal_,
        nn.init.kaiming_uniform_,
    }

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in self.RANDOM_FUNCTIONS:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return function(*args, **kwargs)


def initialize(
    module: nn.Module,
    *,
    initial_range: float | None,
    initial_std: float | None = None,
    seed: str,
    name: str,
    same_in_all_languages: bool = True,
) -> None:
    """Draw every parameter of the component `name`, each from its own generator.

    same_in_all_languages: bodies and options of one side (encoder or decoder) and of equal size get
    the same values in every language, which brings the languages closer to a common space. A body
    is an encoder or decoder without embeddings, projection and output layer. These get different
    values, because equal word numbers mean different words. If False, all values differ between
    languages.

    initial_range: draw uniformly from ± this value, as the program of Vázquez et al. 2018 does. If
    None: Glorot for matrices, orthogonal for recurrent weights, 1/√E for embeddings, 0 for biases
    but 1 for the forget gate (Jozefowicz et al. 2015). Layer norms always start as the identity.

    initial_std: draw matrices that are not recurrent from a normal distribution with this
    standard deviation, as Weng et al. 2017 do; all biases are 0.
    """
    side = name.partition(".")[0]
    norm_parameters = _norm_parameters(module)
    vocabulary_parameters = {id(item) for item in option_vocabulary_parameters(module)}

    for key, parameter in module.named_parameters():
        if id(parameter) in norm_parameters:
            nn.init.constant_(parameter, 1.0 if key.endswith("weight") else 0.0)
            continue

        is_body = key.startswith(("body.", "options."))
        is_body = is_body and id(parameter) not in vocabulary_parameters
        # Components with the same seed name draw the same values. It is the side if all languages
        # draw the same values, otherwise the name of the component.
        seed_name = side if is_body and same_in_all_languages else name
        generator = torch.Generator().manual_seed(zlib.crc32(f"{seed}/{seed_name}/{key}".encode()))

        if initial_range is not None:
            nn.init.uniform_(parameter, -initial_range, initial_range, generator=generator)
        else:
            _draw(parameter, f"{name}.{key}", generator, std=initial_std)

    if initial_range is None and initial_std is None:
        _set_forget_gate_biases(module)
    _set_padding_rows(module)


def _norm_parameters(module: nn.Module) -> set[int]:
    """Return the ids of the parameters of layer norms."""
    parameters = set()
    for child in module.modules():
        if isinstance(child, nn.LayerNorm):
            parameters |= {id(parameter) for parameter in child.parameters()}
    return parameters


def _draw(
    parameter: nn.Parameter,
    name: str,
    generator: torch.Generator,
    *,
    std: float | None,
) -> None:
    """Draw one parameter with the usual initialisation of its kind."""
    if parameter.dim() < 2:
        nn.init.zeros_(parameter)
    elif "weight_hh" in name:
        for gate in parameter.split(parameter.shape[1]):
            nn.init.orthogonal_(gate, generator=generator)
    elif std is not None:
        nn.init.normal_(parameter, std=std, generator=generator)
    elif "embedding" in name:
        nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5, generator=generator)
    elif name.endswith("matrices"):  # U_i of the option `roles`, stored one below the other
        for matrix in parameter.split(parameter.shape[1]):
            nn.init.xavier_uniform_(matrix, generator=generator)
    else:
        nn.init.xavier_uniform_(parameter, generator=generator)


def _set_forget_gate_biases(module: nn.Module) -> None:
    """Set the forget-gate biases of LSTMs to 1; PyTorch orders the gates i, f, g, o."""
    for lstm in module.modules():
        if not isinstance(lstm, nn.LSTM):
            continue
        forget_gate = slice(lstm.hidden_size, 2 * lstm.hidden_size)
        for name, bias in lstm.named_parameters():
            if name.startswith("bias_ih"):
                nn.init.ones_(bias.data[forget_gate])


def _set_padding_rows(module: nn.Module) -> None:
    """Set the embedding of pad to 0 in all tables."""
    with torch.no_grad():
        for table in module.modules():
            if isinstance(table, nn.Embedding):
                table.weight[PAD].zero_()
