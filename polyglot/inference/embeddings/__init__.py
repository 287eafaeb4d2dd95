"""Sentence embeddings, computed from the memory that all decoders read.

- `encoder`: text to vectors in batches, for any number of sentences; base class of a translator
- `pooling`: rows of a sentence to one vector, and the type of its numbers
- `similarity`: cosine, nearest neighbours, margin, bitext mining; `bitext`: the same between files
- `vector_files`: vectors on disk; `tagged_lines`: text with its languages
- `prefetch`: tokenising and writing in other threads
"""
