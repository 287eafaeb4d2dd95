"""A model of which several processes have a part each: every direction is looked at by one of them, and all learn what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

from polyglot.distributed.processes import Processes
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import component_names


class PartitionedModel:
    """The parts of a model on several processes; one process alone has it whole."""

    def __init__(self, model: TranslationModel, run: Run, processes: Processes) -> None:
        """model: what this process has of it."""
        self.model, self.run, self.processes = model, run, processes

    def each(
        self, pairs: Sequence[LanguagePair], work: Callable[[TranslationModel, LanguagePair], float]
    ) -> dict[LanguagePair, float]:
        """What the work finds for each direction, on every process. work: is given a model that has the direction.

        A direction that no process has the components of is done where its decoder is, with what it lacks sent there: in rounds, so that
        nobody waits for what another one does meanwhile.
        """
        doing, foreign = self._divided(pairs)
        own = {
            pair: work(self.model, pair)
            for pair, process in doing.items()
            if process == self.processes.index
        }
        for turn in foreign:
            # All of the turn are sent before any is looked at.
            models = {pair: self._collected(pair, receiver) for pair, receiver in turn.items()}
            own |= {pair: work(model, pair) for pair, model in models.items() if model is not None}
        found = {
            pair: value
            for part in self.processes.gather(own, "its part of the validation")
            for pair, value in part.items()
        }
        return {pair: found[pair] for pair in pairs}

    def _divided(
        self, pairs: Sequence[LanguagePair]
    ) -> tuple[dict[LanguagePair, int], list[dict[LanguagePair, int]]]:
        """The process of each direction, the least busy of those that have it; and turns of others, at most one for each process."""
        doing: dict[LanguagePair, int] = {}
        busy, guests, turns = Counter[int](), Counter[int](), list[dict[LanguagePair, int]]()
        for pair in pairs:
            needed = set(component_names(pair, self.run.config.sharing)) & self._known
            able = [process for process, own in enumerate(self._components) if needed <= set(own)]
            if able:
                doing[pair] = min(able, key=busy.__getitem__)
                busy[doing[pair]] += 1
            else:
                receiver = min(self._holders(f"decoder.{pair.target}"), key=guests.__getitem__)
                if guests[receiver] == len(turns):
                    turns.append({})
                turns[guests[receiver]][pair] = receiver
                guests[receiver] += 1
        return doing, turns

    def _collected(self, pair: LanguagePair, receiver: int) -> TranslationModel | None:
        """A model of one direction on the process that shall have it, None on the others."""
        own, receives = self.model.component_parameters(), self.processes.index == receiver
        device = next(self.model.parameters()).device
        sizes = {
            language: len(vocabulary) for language, vocabulary in self.run.vocabularies.items()
        }
        given = {
            "vocabulary_sizes": sizes,
            "pairs": [pair],
            "seed": None,
            "sharing": self.run.config.sharing,
        }
        model = (
            TranslationModel(self.run.config.model, **given).to(device).eval() if receives else None
        )
        parts = model.component_parameters() if model else own
        for name in sorted(set(component_names(pair, self.run.config.sharing)) & self._known):
            holders = self._holders(name)
            if receiver not in holders:
                tensors = [one.detach() for one in parts.get(name, {}).values()]
                self.processes.copy(
                    tensors,
                    sender=holders[0],
                    receiver=receiver,
                    what=f"{name} for the validation of {pair}",
                )
            elif receives:
                for key, parameter in parts[name].items():
                    parameter.detach().copy_(own[name][key])
        return model

    def _holders(self, component: str) -> list[int]:
        return [process for process, own in enumerate(self._components) if component in own]

    @cached_property
    def _components(self) -> list[list[str]]:
        """What each process has, asked for when all are there."""
        return self.processes.gather(
            list(self.model.component_parameters()), "what the others have"
        )

    @cached_property
    def _known(self) -> set[str]:
        return {name for own in self._components for name in own}
