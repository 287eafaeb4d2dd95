"""Initial values of parameters."""

from __future__ import annotations

import zlib

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from polyglot.model.options import Option
from polyglot.tasks.batch import PAD


class SkipInit(TorchFunctionMode):
    """Inside, modules do not draw the first values of their parameters: they come from `initialize` or a checkpoint.

    What is drawn through `torch.nn.init` is named itself, since the mode is off inside its own handler.
    """

    DRAWS = {
        Tensor.uniform_,
        Tensor.normal_,
        nn.init.uniform_,
        nn.init.normal_,
        nn.init.kaiming_uniform_,
    }

    def __torch_function__(self, function, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        if function in self.DRAWS:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return function(*args, **kwargs)


def initialize(module: nn.Module, *, initial_range: float | None, seed: str, name: str) -> None:
    """Draw every parameter of the component of that name anew, each from a generator of its own.

    The bodies and options of one role and size start as the same function, so that languages have less far to a common space; words have
    nothing to do with the words of the same number elsewhere, so embeddings and output layers start differently.

    Uniform in ±initial_range as the paper's program does, or, when None, Glorot for matrices, orthogonal for recurrence,
    1/√E for embeddings, 0 for biases but 1 for the forget gate (Jozefowicz et al. 2015). Layer norms always start as what they are
    without parameters.
    """
    role = name.partition(".")[0]
    norms = {
        id(parameter)
        for child in module.modules()
        if isinstance(child, nn.LayerNorm)
        for parameter in child.parameters()
    }
    of_words = {
        id(parameter)
        for child in module.modules()
        if isinstance(child, Option)
        for parameter in child.vocabulary_parameters()
    }
    for key, parameter in module.named_parameters():
        if id(parameter) in norms:
            nn.init.constant_(parameter, 1.0 if key.endswith("weight") else 0.0)
            continue
        owner = (
            role
            if key.startswith(("body.", "options.")) and id(parameter) not in of_words
            else name
        )
        generator = torch.Generator().manual_seed(zlib.crc32(f"{seed}/{owner}/{key}".encode()))
        if initial_range is not None:
            nn.init.uniform_(parameter, -initial_range, initial_range, generator=generator)
        elif parameter.dim() < 2:
            nn.init.zeros_(parameter)
        elif "embedding" in f"{name}.{key}":
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5, generator=generator)
        elif "weight_hh" in key:
            for gate in parameter.split(parameter.shape[1]):
                nn.init.orthogonal_(gate, generator=generator)
        elif key.endswith("matrices"):
            for matrix in parameter.split(parameter.shape[1]):
                nn.init.xavier_uniform_(matrix, generator=generator)
        else:
            nn.init.xavier_uniform_(parameter, generator=generator)
    if initial_range is None:
        for recurrence in (child for child in module.modules() if isinstance(child, nn.LSTM)):
            for name, parameter in recurrence.named_parameters():
                if name.startswith("bias_ih"):
                    nn.init.ones_(
                        parameter.data[recurrence.hidden_size : 2 * recurrence.hidden_size]
                    )
    for table in (child for child in module.modules() if isinstance(child, nn.Embedding)):
        with torch.no_grad():
            table.weight[PAD].zero_()
