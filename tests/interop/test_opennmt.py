"""A converted model of OpenNMT-py gives the same translations; a checkpoint cannot run code."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys

import pytest
import torch

from polyglot.core.errors import CheckpointError
from polyglot.inference.translator import Translator
from polyglot.interop.opennmt import convert
from polyglot.layers.opennmt import is_installed
from polyglot.runs.run import Run

WORDS = [*(f"▁w{number}" for number in range(36)), "ein", "▁ö", "e", "."]
TRANSFORMER = {
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "enc_layers": 2,
    "dec_layers": 2,
    "hidden_size": 16,
    "word_vec_size": 16,
    "heads": 2,
    "transformer_ff": 32,
    "position_encoding": True,
    "train_steps": 7,
}
RECURRENT = {
    "encoder_type": "brnn",
    "decoder_type": "rnn",
    "enc_layers": 2,
    "dec_layers": 2,
    "hidden_size": 16,
    "word_vec_size": 12,
    "train_steps": 7,
}
MODELS = {
    "transformer": TRANSFORMER,
    "shared": {
        **TRANSFORMER,
        "share_decoder_embeddings": True,
        "pos_ffn_activation_fn": "gelu",
    },
    "input feeding": {**RECURRENT, "input_feed": 1},
    "no input feeding": {
        **RECURRENT,
        "input_feed": 0,
        "encoder_type": "rnn",
        "global_attention": "mlp",
    },
    "GRU": {**RECURRENT, "rnn_type": "GRU", "global_attention": "dot"},
}
MAX_LENGTH = 20


def write_checkpoint(path, settings):
    """Write a checkpoint of OpenNMT-py with random weights."""
    from onmt.inputters.inputter import dict_to_vocabs
    from onmt.model_builder import build_base_model

    options = model_options(settings)
    words = ["<unk>", "<blank>", "<s>", "</s>", *WORDS]
    vocabulary = {"src": words, "tgt": list(words), "data_task": "seq2seq"}
    torch.manual_seed(3)
    model = build_base_model(options, dict_to_vocabs(vocabulary), False)
    set_random_weights(model, end_bias=1.5 if settings.get("rnn_type") == "GRU" else 3.5)
    weights = {}
    for name, tensor in model.state_dict().items():
        if "generator" not in name:
            weights[name] = tensor
    content = {
        "model": weights,
        "generator": model.generator.state_dict(),
        "vocab": vocabulary,
        "opt": options,
        "optim": None,
    }
    torch.save(content, path)
    return path


def model_options(settings):
    """Return OpenNMT-py's options for a model with these settings."""
    import onmt.opts
    from onmt.utils.parse import ArgumentParser

    arguments = ["-data", "{}", "-src_vocab", "none", "-tgt_vocab", "none"]
    for name, value in settings.items():
        arguments.append(f"-{name}")
        if value is not True:
            arguments.append(str(value))
    parser = ArgumentParser()
    onmt.opts.train_opts(parser)
    options = parser.parse_args(arguments)
    ArgumentParser.update_model_opts(options)
    return options


@torch.no_grad()
def set_random_weights(model, *, end_bias):
    """Set weights that give many different translations. end_bias: bias of the end token."""
    for name, parameter in model.named_parameters():
        scale = 0.4
        if "context_attn" in name or "rnn" in name or "decoder.attn" in name:
            scale = 1.2  # so that the source matters
        is_norm_weight = "norm" in name and "weight" in name
        parameter.copy_(torch.randn_like(parameter) * scale + is_norm_weight)
    model.generator.bias[1:3] = -30.0  # a trained model never writes <blank> or <s>
    model.generator.bias[3] = end_bias


def translate_with_opennmt(model, source, target, *, beam):
    """Return the translations of OpenNMT-py."""
    command = [sys.executable, "-W", "ignore", "-m", "onmt.bin.translate"]
    command += ["-model", model, "-src", source, "-output", target]
    command += ["-beam_size", beam, "-batch_size", 16, "-max_length", MAX_LENGTH]
    subprocess.run(
        list(map(str, command)),
        check=True,
        env={**os.environ, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return target.read_text(encoding="utf-8").splitlines()


@pytest.mark.skipif(not is_installed(), reason="OpenNMT-py is not installed")
@pytest.mark.parametrize("model", MODELS)
def test_a_converted_model_translates_like_onmt_translate(model, tmp_path):
    path = write_checkpoint(tmp_path / "model.pt", MODELS[model])
    generator = random.Random(1)
    lines = []
    for _ in range(60):
        words = generator.choices([*WORDS, "unknown"], k=generator.randint(1, 12))
        lines.append(" ".join(words))
    source = tmp_path / "source"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    run = convert(path, tmp_path / "run", source="en", target="de")
    translator = Translator.load(run.path)
    assert Run.open(run.path).choose_checkpoints("last")[0].step == 7
    for beam in (1, 5):
        expected = translate_with_opennmt(path, source, tmp_path / "target", beam=beam)
        translations = translator.translate(
            lines, source="en", target="de", beam=beam, max_length_extra=MAX_LENGTH
        )
        assert translations == expected
        assert len(set(translations)) > 10
        assert len({translation.count(" ") for translation in translations}) > 2


@pytest.mark.skipif(not is_installed(), reason="OpenNMT-py is not installed")
@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {**TRANSFORMER, "max_relative_positions": 4},
            "max_relative_positions is 4, expected 0",
        ),
        ({**RECURRENT, "bridge": True}, "bridge is True, expected False"),
        (
            {**RECURRENT, "encoder_type": "cnn"},
            "encoder_type is 'cnn', expected 'rnn' or 'brnn'",
        ),
    ],
)
def test_a_model_of_another_kind_is_refused(settings, problem, tmp_path):
    path = write_checkpoint(tmp_path / "model.pt", settings)
    with pytest.raises(CheckpointError, match=f"cannot be converted: {problem}"):
        convert(path, tmp_path / "run", source="en", target="de")
    assert not (tmp_path / "run").exists()


class Malicious:
    """Object whose unpickling would run a command."""

    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize(
    "content",
    [
        {"model": Malicious()},
        {"weights": 1},
        {"model": {}, "generator": {}, "vocab": {}, "opt": {}},
        [argparse.Namespace()],
    ],
)
def test_another_file_is_refused_and_runs_no_code(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(content, tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match="model.pt: no checkpoint of OpenNMT-py 3: "):
        convert(tmp_path / "model.pt", tmp_path / "run", source="en", target="de")
    assert not (tmp_path / "ran").exists()


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(CheckpointError, match="model.pt: cannot be read: No such file"):
        convert(tmp_path / "model.pt", tmp_path / "run", source="en", target="de")
