"""Corpora: files and data sets by name, and the language pairs that they have text for.

- `base`: interface of every corpus; `collection`: all corpora of a run
- `text`: plain text files, one for each language or two for each direction
- `tables`: base classes of tables; `table_files`: TSV, JSON lines, Parquet
- `hub`: data sets of the Hugging Face hub; `phrasebook`: the generated corpus
- `shards`: parts of streamed text; `table_streams`: few open streams of the hub
- `arrow_tables`: operations on Arrow tables; `nulls`: empty sentences in the place of nulls
"""

from .base import CORPORA, Corpus
from .collection import Corpora, ParallelText
from .hub import HubCorpus
from .phrasebook import PhrasebookCorpus
from .shards import Shard, StreamedText
from .table_files import JsonlCorpus, ParquetCorpus, TsvCorpus
from .tables import TableCorpus
from .text import TextCorpus

__all__ = [
    "CORPORA",
    "Corpora",
    "Corpus",
    "HubCorpus",
    "JsonlCorpus",
    "ParallelText",
    "ParquetCorpus",
    "PhrasebookCorpus",
    "Shard",
    "StreamedText",
    "TableCorpus",
    "TextCorpus",
    "TsvCorpus",
]
