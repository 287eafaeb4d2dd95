"""What text there is: files and data sets by name, and which language pairs they serve.

- `text`: plain files, one for each language or two for each direction
- `tables`: TSV, JSON lines, Parquet; `hub`: data sets of the Hugging Face hub; `phrasebook`: the embedded corpus
- `shards`: the parts of what is streamed; `collection`: all of them together; `base`: what each of them offers
"""

from .base import CORPORA, Corpus
from .collection import Corpora, ParallelText
from .hub import HubCorpus
from .phrasebook import PhrasebookCorpus
from .shards import Shard, StreamedText
from .tables import JsonlCorpus, ParquetCorpus, TableCorpus, TsvCorpus
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
