"""From files and data sets to batches.

Import from the submodules: a program then loads only the modules that it uses.

- `corpora`: text by language pair: `Corpora`, the registry `CORPORA`
- `filters`: limits on the lengths of sentence pairs: `FilterConfig`; `content_filters`: duplicates
  and other languages
- `dataset`: sentence pairs of one task as piece ids: `TaskDataset`
- `batching`: order and batches of the sentence pairs: `BatchingConfig`, `BatchStream`
- `streamed_dataset`, `streaming`, `stream_reader`: text that is read during training:
  `StreamedDataset`, `StreamedBatches`, `StreamReader`
- `text_files`: lines of files and streams; `row_files`: TSV and JSON lines; `columns`: their names;
  `tsv`: escape of tabs and line breaks
- `compression`: gzip, bzip2, xz and zstd; `open_files`: few open files; `size_limits`
- `parallel_files`: rows of text in any number of languages; `splitting`: its division into
  training, validation and test text; `row_groups`: rows that belong together; `new_text_files`
- `cleaning`: rules for rows that are removed; `cleaned_files`, `cleaning_report`: their files;
  `overlap`: held-out sentences in the training text
- `symbolize_files`: text files with typed symbols, and back
- `cache`, `dataset_fingerprint`: tables on disk, written once and memory-mapped
- `download`: data sets from their public addresses
- `arrays`: types of arrays
"""
