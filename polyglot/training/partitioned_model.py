"""Partitioned model: computes values for language pairs whose components are on several ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from polyglot.core.errors import TrainingError
from polyglot.distributed.processes import Processes
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import component_names


class PartitionedModel:
    """Model whose components are divided over ranks; a single process has all of them."""

    def __init__(self, model: TranslationModel, run: Run, processes: Processes) -> None:
        """model: the components of this rank."""
        self.model = model
        self.run = run
        self.processes = processes

    def map_pairs(
        self,
        pairs: Sequence[LanguagePair],
        compute: Callable[[TranslationModel, LanguagePair], float],
    ) -> dict[LanguagePair, float]:
        """Compute a value for each pair, divided over the ranks; every rank gets all values.

        compute: called with a model that has the components of the pair.

        If a computation fails, all ranks finish their computations and then raise an error, so that
        they can write a checkpoint together.

        A pair whose components are not together on any rank is computed on the rank of its
        decoder, which first receives the missing components. This happens in rounds: all transfers
        of a round precede its computations, so that no rank waits for the work of another.
        """
        local_pairs, rounds = self._assign(pairs)
        results = _Results(compute)
        for pair, rank in local_pairs.items():
            if rank == self.processes.rank:
                results.add(self.model, pair)

        for receivers in rounds:
            models = {}
            for pair, rank in receivers.items():
                models[pair] = self._collect(pair, rank)
            for pair, model in models.items():
                if model is not None:
                    results.add(model, pair)

        all_values: dict[str, float] = {}
        failures: dict[str, str] = {}
        gathered = self.processes.gather(
            (results.values, results.failures),
            tuple[dict[str, float], dict[str, str]],
            "validation results of all processes",
        )
        for rank_values, rank_failures in gathered:
            all_values.update(rank_values)
            failures.update(rank_failures)
        results.raise_failure(failures)
        return {pair: all_values[str(pair)] for pair in pairs}

    def _assign(
        self,
        pairs: Sequence[LanguagePair],
    ) -> tuple[dict[LanguagePair, int], list[dict[LanguagePair, int]]]:
        """Assign a rank to each pair.

        Two results: for pairs whose components are all on one rank, that rank; for the others,
        rounds of transfers, with at most one pair per rank and round. In both cases the least
        loaded rank is chosen.
        """
        local_pairs: dict[LanguagePair, int] = {}
        rounds: list[dict[LanguagePair, int]] = []
        load: Counter[int] = Counter()
        received: Counter[int] = Counter()
        for pair in pairs:
            components = self._existing_components(pair)
            ranks_with_all_components = []
            for rank, rank_components in enumerate(self._components_by_rank):
                if components <= set(rank_components):
                    ranks_with_all_components.append(rank)

            if ranks_with_all_components:
                rank = min(ranks_with_all_components, key=load.__getitem__)
                local_pairs[pair] = rank
                load[rank] += 1
            else:
                decoder_ranks = self._ranks_of(f"decoder.{pair.target}")
                rank = min(decoder_ranks, key=received.__getitem__)
                # A rank receives one pair per round.
                round_number = received[rank]
                if round_number == len(rounds):
                    rounds.append({})
                rounds[round_number][pair] = rank
                received[rank] += 1
        return local_pairs, rounds

    def _collect(self, pair: LanguagePair, receiver: int) -> TranslationModel | None:
        """Collect the components of a pair on one rank; returns None on other ranks.

        They include annealed quantities, such as the temperature of one-hot roles.
        """
        local = self.model.component_tensors()
        collected = local
        model = None
        if self.processes.rank == receiver:
            model = self._empty_model(pair)
            collected = model.component_tensors()

        for name in sorted(self._existing_components(pair)):
            ranks = self._ranks_of(name)
            if receiver not in ranks:
                # The receiver writes data to the tensors of its new model, the sender reads data
                # from its local tensors.
                tensors = [tensor.detach() for tensor in collected.get(name, {}).values()]
                self.processes.copy(
                    tensors,
                    sender=ranks[0],
                    receiver=receiver,
                    awaited=f"{name} for the validation of {pair}",
                )
            elif model is not None:
                for key, tensor in collected[name].items():
                    tensor.detach().copy_(local[name][key])
        return model

    def _empty_model(self, pair: LanguagePair) -> TranslationModel:
        """Model of one pair, in evaluation mode, whose tensors are not set yet."""
        sizes = {}
        for language, vocabulary in self.run.vocabularies.items():
            sizes[language] = len(vocabulary)
        model = TranslationModel(
            self.run.config.model,
            vocabulary_sizes=sizes,
            pairs=[pair],
            seed=None,
            sharing=self.run.config.sharing,
        )
        device = next(self.model.parameters()).device
        return model.to(device).eval()

    def _existing_components(self, pair: LanguagePair) -> set[str]:
        """Components of a pair that have parameters."""
        return set(component_names(pair, self.run.config.sharing)) & self._all_components

    def _ranks_of(self, component: str) -> list[int]:
        ranks = []
        for rank, components in enumerate(self._components_by_rank):
            if component in components:
                ranks.append(rank)
        return ranks

    @cached_property
    def _components_by_rank(self) -> list[list[str]]:
        """Names of the components of each rank; gathered at the first use."""
        return self.processes.gather(
            list(self.model.component_parameters()),
            list[str],
            "component lists of all processes",
        )

    @cached_property
    def _all_components(self) -> set[str]:
        return set().union(*self._components_by_rank)


class _Results:
    """Values that this rank computed, and the errors of computations that failed."""

    def __init__(self, compute: Callable[[TranslationModel, LanguagePair], float]) -> None:
        self._compute = compute
        self.values: dict[str, float] = {}
        """by name of the pair, as `failures`"""
        self.failures: dict[str, str] = {}
        self._error: Exception | None = None

    def add(self, model: TranslationModel, pair: LanguagePair) -> None:
        try:
            self.values[str(pair)] = self._compute(model, pair)
        except Exception as error:
            self.failures[str(pair)] = f"{type(error).__name__}: {error}"
            self._error = self._error or error

    def raise_failure(self, failures: Mapping[str, str]) -> None:
        """Raise the first error of this rank, or a TrainingError about those of other ranks."""
        if self._error is not None:
            raise self._error
        for pair, message in failures.items():
            raise TrainingError(f"the validation of {pair} failed in another process: {message}")
