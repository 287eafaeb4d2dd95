"""Corpora on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError
from polyglot.data.cache import fingerprint
from polyglot.data.dataset_fingerprint import dataset_fingerprint

from .arrow_tables import LARGE_BLOCK_ROWS, column_names, select_texts
from .base import CORPORA, VERSION
from .shards import ROWS, Pair, Shard
from .table_streams import read_tables
from .tables import TableCorpus

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset, IterableDataset

    from polyglot.tasks.pairs import LanguagePair

TIMEOUT = 5
"""Seconds to wait for a first answer of the hub; without this limit the libraries retry for
minutes."""


@CORPORA.register("hub")
class HubCorpus(TableCorpus):
    """A data set of the Hugging Face hub, or a local folder in the same layout."""

    class Config(TableCorpus.Config):
        """Name, configuration and split of the data set."""

        name: str
        """Name on the hub, such as `Helsinki-NLP/opus-100`."""

        config: str | None = None
        """Configuration of the data set, such as `de-en`."""

        split: str = "train"
        """`train`, `validation`, `test`, or a part such as `train[:10000]`."""

    @property
    def name(self) -> str:
        parts = ["hub data set", self.config.name, self.config.config, self.config.split]
        return " ".join(filter(None, parts))

    def available_columns(self) -> Sequence[str]:
        dataset = self._dataset()
        if not self.is_streamed:
            return column_names(dataset.features.arrow_schema)
        with self._stream_errors():
            first = next(dataset.with_format("arrow").iter(batch_size=1), None)
        if first is None:
            raise DataError(f"{self.name}: no sentences")
        return column_names(first.schema)

    def _dataset(self) -> Dataset | IterableDataset:
        """Load the data set, once; raises DataError if this is impossible."""
        if isinstance(self._loaded, DataError):
            raise self._loaded
        return self._loaded

    @cached_property
    def _loaded(self) -> Dataset | IterableDataset | DataError:
        """The data set from the hub or, without a connection, its local copy; or the error."""
        from datasets import load_dataset

        unreachable = self._unreachable_reason()
        try:
            with _offline() if unreachable else nullcontext():
                return load_dataset(
                    self.config.name,
                    self.config.config,
                    split=self.config.split,
                    streaming=self.is_streamed,
                )
        except Exception as error:  # noqa: BLE001 - hub, cache and network raise many types
            return self._loading_error(error, unreachable)

    def _loading_error(self, error: Exception, unreachable: str | None) -> DataError:
        """Error for a data set that cannot be loaded. unreachable: reason if the hub is."""
        reason = _first_line(error)
        if not unreachable:
            return DataError(f"{self.name}: cannot be loaded: {reason}")

        advice = "load it once where there is a network, or name files instead"
        if isinstance(error, (ConnectionError, FileNotFoundError)):
            return DataError(f"{self.name}: {unreachable}, and there is no local copy; {advice}")
        return DataError(
            f"{self.name}: {unreachable}, and the local copy cannot be used: {reason}; "
            f"correct the corpus, {advice}"
        )

    def _unreachable_reason(self) -> str | None:
        """Reason why the hub cannot be reached; None if it can, or if the name is a folder."""
        from datasets import config
        from huggingface_hub import get_session

        if Path(self.config.name).exists():
            return None
        if config.HF_HUB_OFFLINE:
            return "the hub is not asked, because HF_HUB_OFFLINE is set"
        try:
            get_session().head(config.HF_ENDPOINT, timeout=TIMEOUT)
        except Exception as error:  # noqa: BLE001 - the type depends on the version of the library
            reason = str(error).strip() or type(error).__name__
            return f"{config.HF_ENDPOINT} cannot be reached ({reason})"
        return None

    def _read(self) -> Dataset:
        dataset = self._dataset()
        columns = self.columns()
        source = dataset_fingerprint(dataset)
        name = fingerprint("hub", VERSION, source, sorted(columns.items()))

        def tables() -> Iterator[pyarrow.Table]:
            # Without rows, the table must have its columns, too.
            empty = dataset.features.arrow_schema.empty_table()
            yield select_texts(empty, columns, place=self.name)
            for table in dataset.with_format("arrow").iter(batch_size=LARGE_BLOCK_ROWS):
                yield select_texts(table, columns, place=self.name)

        return self._cached_texts(name, tables)

    def shards(self, pair: LanguagePair) -> list[Shard]:
        """Shards of the data set on the hub.

        To continue at a row, the rows before it in the shard are read again.
        """
        if not self.is_streamed:
            return super().shards(pair)

        dataset = self._dataset()
        count = dataset.num_shards
        split = (dataset.info.splits or {}).get(self.config.split)
        rows_per_shard = split.num_examples // count if split else None
        shards = []
        for index in range(count):
            if count == 1:
                name = self.name
            else:
                name = f"{self.name}, part {index + 1} of {count}"
            shard = Shard(
                name=name,
                rows=partial(self._shard_rows, pair, index),
                label=name,
                size=rows_per_shard or 1,
                estimate_rows=lambda: rows_per_shard,
            )
            shards.append(shard)
        return shards

    def _shard_rows(self, pair: LanguagePair, index: int, start: int) -> Iterator[Pair]:
        """Yield the sentence pairs of a shard from a row on."""
        dataset = self._dataset()
        columns = self._pair_columns(pair)

        def open_at(row: int) -> Iterator[pyarrow.Table]:
            shard = dataset.shard(num_shards=dataset.num_shards, index=index).skip(row)
            return shard.with_format("arrow").iter(batch_size=ROWS)

        with self._stream_errors():
            tables = read_tables(open_at, start)
            texts = (select_texts(table, columns, place=self.name) for table in tables)
            rows = (table.to_pydict() for table in texts)
            yield from self._filled_rows(f"{self.name}, part {index + 1}", rows, pair)

    @contextmanager
    def _stream_errors(self) -> Iterator[None]:
        """Turn errors while a stream is read into DataError."""
        try:
            yield
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - hub, cache and network raise many types
            raise DataError(f"{self.name}: cannot be read: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]


@contextmanager
def _offline() -> Iterator[None]:
    """Act as with HF_HUB_OFFLINE=1, which the libraries read only when they are imported."""
    from datasets import config
    from huggingface_hub import constants

    datasets_value = config.HF_HUB_OFFLINE
    hub_value = constants.HF_HUB_OFFLINE
    config.HF_HUB_OFFLINE = True
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        config.HF_HUB_OFFLINE = datasets_value
        constants.HF_HUB_OFFLINE = hub_value
