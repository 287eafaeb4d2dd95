"""From files and data sets to batches; import from the submodules, so that nothing is loaded that is not used.

- `corpora`: what text there is, for which language pairs: `Corpora`, the registry `CORPORA`
- `filters`: which sentence pairs are too long or too unequal to learn from: `FilterConfig`
- `dataset`: the sentence pairs of one task, as piece numbers: `TaskDataset`
- `batching`: in which order they come, and with whom: `BatchingConfig`, `BatchStream`, `ordered_batches`
- `streaming`, `reading`: text that is read while training: `StreamedDataset`, `StreamedBatches`
- `lines`: one sentence after the other out of a file of text, TSV or JSON
- `cache`: tables on disk, written once and memory-mapped
- `phrasebook`: the embedded corpus
- `fetch`: data sets from their public places
"""
