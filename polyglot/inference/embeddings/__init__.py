"""Sentences as vectors, from the same memory that every decoder reads.

- `pooling`: the rows of a sentence to one vector, and what it is stored as
- `encoder`: text to vectors in batches, in any number; what a translator inherits
- `similarity`: cosine, nearest neighbours, margin, bitext mining
- `files`: vectors on disk; `lines`: text with its languages; `ahead`: work that overlaps
"""
