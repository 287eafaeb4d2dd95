"""Data sets of the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError
from polyglot.data.cache import cached_dataset, fingerprint

from .base import CORPORA, VERSION
from .shards import ROWS, Pair, Shard
from .tables import TableCorpus, select_texts, column_names

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset, IterableDataset

    from polyglot.tasks.pairs import LanguagePair


PATIENCE = 5  # seconds for a first sign of the hub; the libraries below would try again for minutes


@CORPORA.register("hub")
class HubCorpus(TableCorpus):
    """A data set of the Hugging Face hub."""

    class Config(TableCorpus.Config):
        name: str
        """As the hub calls it, such as `Helsinki-NLP/opus-100`."""

        config: str | None = None
        """Which of its configurations, such as `de-en`."""

        split: str = "train"
        """`train`, `validation`, `test`, or a part such as `train[:10000]`."""

    @property
    def name(self) -> str:
        return " ".join(
            filter(None, ["hub data set", self.config.name, self.config.config, self.config.split])
        )

    def available(self) -> Sequence[str]:
        if not self.is_streamed:
            return column_names(self._dataset().features.arrow_schema)
        with self._told():
            first = next(self._dataset().with_format("arrow").iter(batch_size=1), None)
        if first is None:
            raise DataError(f"{self.name}: no sentences")
        return column_names(first.schema)

    def _dataset(self) -> Dataset | IterableDataset:
        """Raises DataError when it cannot be loaded, which is tried once."""
        if isinstance(self._loaded, DataError):
            raise self._loaded
        return self._loaded

    @cached_property
    def _loaded(self) -> Dataset | IterableDataset | DataError:
        """From the hub, or without it what was downloaded before; else why not."""
        from datasets import load_dataset

        unreachable = self._why_unreachable()
        try:
            with _offline() if unreachable else nullcontext():
                return load_dataset(
                    self.config.name,
                    self.config.config,
                    split=self.config.split,
                    streaming=self.is_streamed,
                )
        except Exception as error:  # noqa: BLE001 - the hub, its cache and the network fail in as many ways as they have authors
            reason = _reason(error)
            if not unreachable:
                return DataError(f"{self.name}: cannot be loaded: {reason}")
            what_to_do = "load it once where there is a network, or name files instead"
            if isinstance(error, (ConnectionError, FileNotFoundError)):
                return DataError(
                    f"{self.name}: {unreachable}, and there is no copy from before; {what_to_do}"
                )
            return DataError(
                f"{self.name}: {unreachable}, and the copy from before cannot be used: {reason}; correct the corpus, {what_to_do}"
            )

    def _why_unreachable(self) -> str | None:
        """Nobody is asked for a folder, which is loaded by the same call."""
        from datasets import config
        from huggingface_hub import get_session

        if Path(self.config.name).exists():
            return None
        if config.HF_HUB_OFFLINE:
            return "the hub is not asked, because HF_HUB_OFFLINE is set"
        try:
            get_session().head(config.HF_ENDPOINT, timeout=PATIENCE)
        except Exception as error:  # noqa: BLE001 - what the network raises depends on the version of the library
            return f"{config.HF_ENDPOINT} cannot be reached ({str(error).strip() or type(error).__name__})"
        return None

    def _read(self) -> Dataset:
        dataset, columns = self._dataset(), self.columns()
        name = fingerprint("hub", VERSION, dataset._fingerprint, sorted(columns.items()))

        def tables() -> Iterator[pyarrow.Table]:
            yield select_texts(
                dataset.features.arrow_schema.empty_table(), columns, place=self.name
            )  # no rows have columns, too
            for table in dataset.with_format("arrow").iter(batch_size=1 << 16):
                yield select_texts(table, columns, place=self.name)

        return cached_dataset(name, tables)

    def shards(self, pair: LanguagePair) -> list[Shard]:
        """As the data set is divided on the hub; to go on from a row, those before it in its shard are read again."""
        if not self.is_streamed:
            return super().shards(pair)
        dataset = self._dataset()
        columns = {language: self.columns()[language] for language in (pair.source, pair.target)}
        split = (dataset.info.splits or {}).get(self.config.split)
        several = dataset.num_shards

        def rows(index: int, start: int) -> Iterator[Pair]:
            own = dataset.shard(num_shards=several, index=index).skip(start)
            with self._told():
                tables = (
                    select_texts(table, columns, place=self.name)
                    for table in own.with_format("arrow").iter(batch_size=ROWS)
                )
                yield from self._of_pair((table.to_pydict() for table in tables), pair)

        named = [
            self.name if several == 1 else f"{self.name}, part {index + 1} of {several}"
            for index in range(several)
        ]
        size = split.num_examples // several if split else None
        return [
            Shard(name, partial(rows, index), name, size or 1, lambda: size)
            for index, name in enumerate(named)
        ]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong with a stream as a sentence."""
        try:
            yield
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise DataError(f"{self.name}: cannot be read: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def _offline() -> Iterator[None]:
    """What HF_HUB_OFFLINE=1 says, which the libraries read only once."""
    from datasets import config
    from huggingface_hub import constants

    before = config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before
