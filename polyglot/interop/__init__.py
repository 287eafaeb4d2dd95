"""Formats and interfaces of other programs.

- `opennmt`, `opennmt_models`: checkpoints of OpenNMT-py 3
- `sentence_transformers`: a run as a module of sentence-transformers
"""
