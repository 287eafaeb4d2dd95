"""A run as a module of `sentence_transformers.SentenceTransformer`, for its evaluators and losses.

    from polyglot.interop.sentence_transformers import sentence_transformer

    model = sentence_transformer("runs/phrasebook", language="en")
    model.encode(["The dog sleeps."])                             # in English
    model.encode(["<de> Der Hund schläft.", "The dog sleeps."])   # a sentence may name its language
    model.encode(["Der Hund schläft."], prompt_name="de")         # the same with a prompt

Evaluators call `encode` without a language. For text in two languages, mark the sentences with
`tagged(sentences, "de")`.
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
from polyglot.core.language_codes import resolve_language
from polyglot.inference.embeddings.pooling import layer_rows, pool
from polyglot.inference.translator import Translator
from polyglot.tasks.batch import pad

try:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import InputModule
except ImportError:
    raise ConfigError(
        "sentence-transformers 6 or newer is not installed; "
        "pip install 'polyglot-nmt[sentence-transformers]'"
    ) from None

TAG = re.compile(r"<([A-Za-z][A-Za-z0-9_]*)> ?")
LANGUAGE_LIKE_TAG = re.compile(r"<([A-Za-z]{2,3}(?:[_-][A-Za-z0-9]+)*)>")
"""Tag that looks like an ISO 639 code, which may have a script or a country."""


class RunModule(InputModule):
    """Module that converts sentences to vectors with the encoders and the bridge of a run."""

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
        """language: of sentences without a tag.

        Raises ConfigError and CheckpointError with a message for the user.
        """
        super().__init__()
        self.run = str(run)
        self.pooling = pooling
        self.layer = layer
        self.checkpoint = checkpoint
        # sentence-transformers moves the model to another device later.
        self.translator = Translator.load(run, checkpoint=checkpoint, device="cpu")
        [self.language] = self.translator.resolve_languages([language])
        self.model = self.translator.model
        self.size = self.translator.vector_size(layer=layer, pooling=pooling)

    def preprocess(
        self,
        inputs: Sequence[str],
        prompt: str | None = None,
        **settings: Any,
    ) -> dict[str, Tensor]:
        """Return `input_ids` and `attention_mask` (B, S), and `languages` (B,) as numbers."""
        pieces = []
        languages = []
        prefix = prompt or ""
        for text in inputs:
            language, sentence = self._split_tag(prefix + text)
            pieces += self.translator.encode_text([sentence], language)
            number = self.translator.sources.index(language)
            languages.append(number)
        ids, mask = pad(pieces)
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "languages": torch.tensor(languages),
        }

    def _split_tag(self, text: str) -> tuple[str, str]:
        """Split `<de> Hund` into `de` and `Hund` if the run has an encoder of `de`.

        Other text is in the module's language, with its tag. Warns of a tag that looks like another
        language.
        """
        sources = self.translator.sources
        tag = TAG.match(text)
        if tag:
            language = resolve_language(tag[1], sources)
            if language in sources:
                return language, text[tag.end() :]
        unknown_tag = LANGUAGE_LIKE_TAG.match(text)
        if unknown_tag:
            listed = ", ".join(sources)
            warnings.warn(
                f"the tag {unknown_tag[0]} is no language with an encoder in {self.run} "
                f"({listed}): the sentence is encoded as text in {self.language}",
                stacklevel=2,
            )
        return self.language, text

    def forward(self, features: dict[str, Tensor], **settings: Any) -> dict[str, Tensor]:
        """Add `sentence_embedding`: (B, K·D) for `flat`, (B, D) for `mean` and `max`.

        The vector of a blank sentence is all zeros.
        """
        ids = features["input_ids"]
        mask = features["attention_mask"].bool()
        languages = features["languages"]
        vectors = torch.zeros(len(ids), self.size, device=ids.device)
        for number in languages.unique().tolist():
            is_selected = (languages == number) & mask.any(dim=1)
            sentences = is_selected.nonzero().squeeze(1)
            if not len(sentences):
                continue
            language = self.translator.sources[number]
            rows = layer_rows(
                self.model,
                language,
                ids[sentences],
                mask[sentences],
                layer=self.layer,
            )
            vectors = vectors.index_copy(0, sentences, pool(rows, self.pooling))
        return {**features, "sentence_embedding": vectors}

    def get_embedding_dimension(self) -> int:
        return self.size

    def save(
        self,
        output_path: str,
        *args: Any,
        safe_serialization: bool = True,
        **settings: Any,
    ) -> None:
        """Save settings and parameters; vocabularies stay in the run directory."""
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=True)

    @classmethod
    def load(cls, model_name_or_path: str, **settings: Any) -> RunModule:
        settings.pop("init_defaults", None)
        module = super().load(model_name_or_path, **settings)
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
    """Make a SentenceTransformer of a run, with a prompt for each language that it can encode.

    Raises ConfigError and CheckpointError with a message for the user.
    """
    module = RunModule(str(run), language, pooling, layer, checkpoint)
    prompts = {source: f"<{source}> " for source in module.translator.sources}
    return SentenceTransformer(modules=[module], prompts=prompts, device=device or "cpu")


def tagged(sentences: Sequence[str], language: str) -> list[str]:
    """Put the language before each sentence: `<de> Der Hund schläft.`"""
    return [f"<{language}> {sentence}" for sentence in sentences]
