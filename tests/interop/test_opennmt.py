"""A model of OpenNMT-py translates here as it did there, and its file can run no code."""

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

WORDS = [f"▁w{number}" for number in range(36)] + ["ein", "▁ö", "e", "."]
OPTIONS = {
    "encoder_type": "transformer", "decoder_type": "transformer", "enc_layers": 2, "dec_layers": 2, "hidden_size": 16, "word_vec_size": 16,
    "heads": 2, "transformer_ff": 32, "position_encoding": True, "train_steps": 7,
}  # fmt: skip
RECURRENT = {
    "encoder_type": "brnn", "decoder_type": "rnn", "enc_layers": 2, "dec_layers": 2, "hidden_size": 16, "word_vec_size": 12, "train_steps": 7,
}  # fmt: skip
MODELS = {
    "transformer": OPTIONS,
    "shared": OPTIONS | {"share_decoder_embeddings": True, "pos_ffn_activation_fn": "gelu"},
    "input feeding": RECURRENT | {"input_feed": 1},
    "no input feeding": RECURRENT
    | {"input_feed": 0, "encoder_type": "rnn", "global_attention": "mlp"},
    "GRU": RECURRENT | {"rnn_type": "GRU", "global_attention": "dot"},
}
LONGEST = 20


def checkpoint(path, settings):
    """What OpenNMT-py saves of a model with random weights, decided enough for distinct hypotheses."""
    import onmt.opts
    from onmt.inputters.inputter import dict_to_vocabs
    from onmt.model_builder import build_base_model
    from onmt.utils.parse import ArgumentParser

    parser = ArgumentParser()
    onmt.opts.train_opts(parser)
    arguments = [
        part
        for key, value in settings.items()
        for part in (f"-{key}", *([] if value is True else [str(value)]))
    ]
    options = parser.parse_args(
        [*arguments, "-data", "{}", "-src_vocab", "none", "-tgt_vocab", "none"]
    )
    ArgumentParser.update_model_opts(options)
    vocabulary = {side: ["<unk>", "<blank>", "<s>", "</s>", *WORDS] for side in ("src", "tgt")} | {
        "data_task": "seq2seq"
    }
    torch.manual_seed(3)
    model = build_base_model(options, dict_to_vocabs(vocabulary), False)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            share = (
                1.2 if "context_attn" in name or "rnn" in name or "decoder.attn" in name else 0.4
            )  # so that the source counts
            parameter.copy_(
                torch.randn_like(parameter) * share + ("norm" in name and "weight" in name)
            )
        model.generator.bias[1:3] = -30.0  # no model that was trained writes <blank> or <s>
        model.generator.bias[3] = 3.5 if settings.get("rnn_type") != "GRU" else 1.5
    weights = {key: value for key, value in model.state_dict().items() if "generator" not in key}
    torch.save(
        {
            "model": weights,
            "generator": model.generator.state_dict(),
            "vocab": vocabulary,
            "opt": options,
            "optim": None,
        },
        path,
    )
    return path


@pytest.mark.skipif(not is_installed(), reason="OpenNMT-py is not installed")
@pytest.mark.parametrize("model", MODELS)
def test_it_translates_as_onmt_translate_does(model, tmp_path):
    path = checkpoint(tmp_path / "model.pt", MODELS[model])
    draw = random.Random(1)
    lines = [" ".join(draw.choices([*WORDS, "unknown"], k=draw.randint(1, 12))) for _ in range(60)]
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    run = convert(path, tmp_path / "run", source="en", target="de")
    translator = Translator.load(run.path)
    assert Run.open(run.path).choose_checkpoints("last")[0].step == 7
    for beam in (1, 5):
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "onmt.bin.translate",
            "-model",
            path,
            "-src",
            tmp_path / "source",
            "-output",
            tmp_path / "target",
        ]
        given = ["-beam_size", beam, "-batch_size", 16, "-max_length", LONGEST]
        environment = {**os.environ, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
        subprocess.run(
            list(map(str, [*command, *given])),
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        expected = (tmp_path / "target").read_text(encoding="utf-8").splitlines()
        found = translator.translate(
            lines, source="en", target="de", beam=beam, max_length_extra=LONGEST
        )
        assert found == expected
        assert len(set(found)) > 10 and len({line.count(" ") for line in found}) > 2


@pytest.mark.skipif(not is_installed(), reason="OpenNMT-py is not installed")
@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (OPTIONS | {"max_relative_positions": 4}, "max_relative_positions is 4, expected 0"),
        (RECURRENT | {"bridge": True}, "bridge is True, expected False"),
        (RECURRENT | {"encoder_type": "cnn"}, "encoder_type is 'cnn', expected 'rnn' or 'brnn'"),
    ],
)
def test_a_model_of_another_kind_is_refused(model, problem, tmp_path):
    path = checkpoint(tmp_path / "model.pt", model)
    with pytest.raises(CheckpointError, match=f"cannot be converted: {problem}"):
        convert(path, tmp_path / "run", source="en", target="de")
    assert not (tmp_path / "run").exists()


class Code:
    """Something that a pickle would run."""

    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize(
    "content",
    [
        {"model": Code()},
        {"weights": 1},
        {"model": {}, "generator": {}, "vocab": {}, "opt": {}},
        [argparse.Namespace()],
    ],
)
def test_another_file_is_refused_and_runs_nothing(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(content, tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match="model.pt: no checkpoint of OpenNMT-py 3: "):
        convert(tmp_path / "model.pt", tmp_path / "run", source="en", target="de")
    assert not (tmp_path / "ran").exists()


def test_no_file_is_said(tmp_path):
    with pytest.raises(CheckpointError, match="model.pt: cannot be read: No such file"):
        convert(tmp_path / "model.pt", tmp_path / "run", source="en", target="de")
