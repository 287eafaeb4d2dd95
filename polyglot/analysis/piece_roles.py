"""Roles of the pieces of a text, computed by the role layer of an encoder or decoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglot.analysis.annotated_text import AnnotatedSentence, batches, display, load_sentences
from polyglot.core.errors import ConfigError
from polyglot.inference.translator import Translator
from polyglot.model.memory import Memory
from polyglot.model.options import apply_preceding, options_at
from polyglot.runs.run import Run
from polyglot.tasks.batch import BOS

ROLE_OPTIONS = ("roles", "state_roles")  # the first one is analysed if a component has both
CONTEXT_PIECES = 4  # on each side of a piece in an example


@dataclass(frozen=True)
class PieceRoles:
    """Piece in its sentence, with the roles that the model assigns to it."""

    sentence: AnnotatedSentence
    position: int
    roles: numpy.ndarray
    """(R,)"""

    @property
    def role(self) -> int:
        """Strongest role: the largest |r|, since dense roles may be negative."""
        return int(numpy.abs(self.roles).argmax())

    @property
    def piece(self) -> str:
        """Text of the piece, for display."""
        return display(self.sentence.pieces[self.position])

    def in_context(self) -> str:
        """Return the piece in brackets between its neighbours: `… on the [bank] of the …`."""
        pieces = list(map(display, self.sentence.pieces))
        pieces[self.position] = f"[{pieces[self.position]}]"
        first = max(0, self.position - CONTEXT_PIECES)
        end = self.position + CONTEXT_PIECES + 1

        context = pieces[first:end]
        if first > 0:
            context.insert(0, "…")
        if end < len(pieces):
            context.append("…")
        return " ".join(context)


def assign_roles(
    run: Run,
    translator: Translator,
    language: str,
    *,
    side: str,
    count: int,
) -> list[PieceRoles]:
    """Compute the roles of every piece of the first development sentences of a language.

    A decoder reads each sentence after `bos`, as in training. Raises ConfigError if this encoder
    or decoder has no roles.
    """
    _check_component(translator, language, side)
    sentences = load_sentences(run, translator, language, count=count, part="valid")
    result = []
    for batch, tokens, mask in batches(sentences, translator.device):
        with torch.inference_mode():
            if side == "encoder":
                roles = _encoder_roles(translator, language, tokens, mask)
            else:
                roles = _decoder_roles(run, translator, language, tokens, mask)
        for sentence, roles_of_sentence in zip(batch, roles.float().cpu().numpy()):
            for position in range(len(sentence.ids)):
                result.append(PieceRoles(sentence, position, roles_of_sentence[position]))
    return result


def _check_component(
    translator: Translator,
    language: str,
    side: str,
) -> None:
    model = translator.model
    components = model.encoders if side == "encoder" else model.decoders
    with_roles = []
    for name, component in components.items():
        if any(option in component.options for option in ROLE_OPTIONS):
            with_roles.append(name)
    if language in with_roles:
        return
    hint = f"no {side} of this run has any"
    if with_roles:
        hint = f"{side}s with roles: {', '.join(with_roles)}"
    raise ConfigError(f"roles: the {side} of {language} has no roles; {hint}")


def _encoder_roles(
    translator: Translator,
    language: str,
    tokens: Tensor,
    mask: Tensor,
) -> Tensor:
    """Roles (B, S, R) of tokens (B, S)."""
    encoder = translator.model.encoders[language]
    embedded = encoder.embedding(tokens)
    if "roles" in encoder.options:
        words = apply_preceding(encoder.options, "roles", embedded, mask)
        return encoder.options["roles"].assign_roles(words, mask)

    words = embedded
    for option in options_at(encoder.options, "embedding"):
        words = option(words, mask)
    states, _ = encoder.body.with_final_states(words, mask)
    return _state_roles(encoder.options, states, words, mask)


def _state_roles(
    options: nn.ModuleDict,
    states: Tensor,
    words: Tensor | None,
    mask: Tensor,
) -> Tensor:
    """Roles (B, S, R) of the states of a body (B, S, D), after the options before `state_roles`.

    words: embedded words (B, S, E) of an encoder; None for a decoder.
    """
    role_layer = options["state_roles"]
    for option in options_at(options, "states"):
        if option is role_layer:
            break
        states = option(states, words, mask)
    return role_layer.assign_roles(states, mask)


def _decoder_roles(
    run: Run,
    translator: Translator,
    language: str,
    tokens: Tensor,
    mask: Tensor,
) -> Tensor:
    """Roles (B, T, R) of tokens (B, T); `bos` is read before them and left out of the result."""
    decoder = translator.model.decoders[language]
    memory = _memory(run, translator, language, tokens, mask)
    tokens = functional.pad(tokens, (1, 0), value=BOS)
    mask = functional.pad(mask, (1, 0), value=True)
    embedded = decoder.embedding(tokens)
    if "roles" in decoder.options:
        words = apply_preceding(decoder.options, "roles", embedded, mask, memory)
        return decoder.options["roles"].assign_roles(words, mask)[:, 1:]

    words = embedded
    for option in options_at(decoder.options, "embedding"):
        words = option(words, mask, memory)
    states = decoder.body(words, mask, memory)
    return _state_roles(decoder.options, states, None, mask)[:, 1:]


def _memory(
    run: Run,
    translator: Translator,
    language: str,
    tokens: Tensor,
    mask: Tensor,
) -> Memory:
    """Memory for a context gate before the roles of a decoder.

    It is the encoded sentence itself, or zeros if its language has no encoder.
    """
    if language in translator.model.encoders:
        return translator.model.encode(language, tokens, mask)
    zeros = torch.zeros(len(tokens), 1, run.config.model.memory_size, device=tokens.device)
    return Memory(zeros)
