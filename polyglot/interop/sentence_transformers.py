"""A run as a module of a real `sentence_transformers.SentenceTransformer`, so that its evaluators and losses work on our model.

    from polyglot.interop.sentence_transformers import sentence_transformer

    model = sentence_transformer("runs/phrasebook", language="en")
    model.encode(["The dog sleeps."])                             # in English
    model.encode(["<de> Der Hund schläft.", "The dog sleeps."])   # a sentence may name its own language
    model.encode(["Der Hund schläft."], prompt_name="de")         # the same, in the library's words

Evaluators call `encode` with bare sentences: where two languages meet, `tagged(sentences, "de")` says which is which.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from polyglot.core.errors import ConfigError
from polyglot.inference.embeddings.pooling import layer_rows, pool
from polyglot.inference.translator import Translator
from polyglot.tasks.batch import pad

try:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import InputModule
except ImportError:
    raise ConfigError(
        "sentence-transformers 6 or newer is not installed; pip install 'polyglot-nmt[sentence-transformers]'"
    ) from None

TAG = re.compile(r"<([A-Za-z][A-Za-z0-9_]*)> ?")
LIKE_A_LANGUAGE = re.compile(r"<([A-Za-z]{2,3}(?:[_-][A-Za-z0-9]+)*)>")
"""A code of ISO 639, with script or country if need be."""


class RunModule(InputModule):
    """Sentences to vectors by the encoders and the bridge of a run."""

    save_in_root = True
    config_keys = ["run", "language", "pooling", "layer", "checkpoint"]

    def __init__(
        self,
        run: str,
        language: str,
        pooling: str = "flat",
        layer: str = "bridge",
        checkpoint: str | int = "best",
    ) -> None:
        """language: of sentences that name none. Raises ConfigError and CheckpointError as sentences."""
        super().__init__()
        self.run, self.language, self.pooling, self.layer, self.checkpoint = (
            str(run),
            language,
            pooling,
            layer,
            checkpoint,
        )
        self.translator = Translator.load(
            run, checkpoint=checkpoint, device="cpu"
        )  # sentence-transformers moves it
        self.translator.check_languages([language])
        self.model = self.translator.model
        self.size = self.translator.vector_size(layer=layer, pooling=pooling)

    def preprocess(
        self, inputs: Sequence[str], prompt: str | None = None, **settings: Any
    ) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask` (B, S), `languages` (B,) as numbers of the encoders"""
        texts = [self._with_language((prompt or "") + text) for text in inputs]
        pieces = [self.translator.encode_text([text], language)[0] for language, text in texts]
        ids, mask = pad(pieces)
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "languages": torch.tensor(
                [self.translator.sources.index(language) for language, _ in texts]
            ),
        }

    def _with_language(self, text: str) -> tuple[str, str]:
        """`<de> Hund` to `de` and `Hund`, where `de` is a language that can be read; any other text is in the module's own, tag and all.

        What looks like the tag of another language is warned of, each once.
        """
        tag = TAG.match(text)
        if tag and tag[1] in self.translator.sources:
            return tag[1], text[tag.end() :]
        if unknown := LIKE_A_LANGUAGE.match(text):
            known = ", ".join(self.translator.sources)
            warnings.warn(
                f"{unknown[0]} before a sentence names no language that {self.run} reads ({known}): it is read as text in {self.language}",
                stacklevel=2,
            )
        return self.language, text

    def forward(self, features: dict[str, Tensor], **settings: Any) -> dict[str, Tensor]:
        """Adds `sentence_embedding` (B, K·D) of `flat`, (B, D) of `mean` and `max`; zeros for a blank sentence."""
        ids, mask, languages = (
            features["input_ids"],
            features["attention_mask"].bool(),
            features["languages"],
        )
        vectors = torch.zeros(len(ids), self.size, device=ids.device)
        for number in languages.unique().tolist():
            rows = ((languages == number) & mask.any(dim=1)).nonzero().squeeze(1)
            if len(rows):
                found = pool(
                    layer_rows(
                        self.model,
                        self.translator.sources[number],
                        ids[rows],
                        mask[rows],
                        layer=self.layer,
                    ),
                    self.pooling,
                )
                vectors = vectors.index_copy(0, rows, found)
        return {**features, "sentence_embedding": vectors}

    def get_embedding_dimension(self) -> int:
        return self.size

    def save(
        self, output_path: str, *args: Any, safe_serialization: bool = True, **settings: Any
    ) -> None:
        """Settings and parameters; text steps and vocabularies stay in the run directory."""
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=True)

    @classmethod
    def load(cls, model_name_or_path: str, **given: Any) -> RunModule:
        module = super().load(
            model_name_or_path,
            **{key: value for key, value in given.items() if key != "init_defaults"},
        )
        return cls.load_torch_weights(model_name_or_path, model=module)


def sentence_transformer(
    run: str | Path,
    *,
    language: str,
    pooling: str = "flat",
    layer: str = "bridge",
    checkpoint: str | int = "best",
    device: str | None = None,
) -> SentenceTransformer:
    """A SentenceTransformer around a run; a prompt for each language it reads. Raises ConfigError and CheckpointError as sentences."""
    module = RunModule(str(run), language, pooling, layer, checkpoint)
    prompts = {one: tagged([""], one)[0] for one in module.translator.sources}
    return SentenceTransformer(modules=[module], prompts=prompts, device=device or "cpu")


def tagged(sentences: Sequence[str], language: str) -> list[str]:
    """The sentences with their language before them, as `<de> Der Hund schläft.`"""
    return [f"<{language}> {sentence}" for sentence in sentences]
