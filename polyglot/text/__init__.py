"""Conversion between lines of text and piece numbers, for one language at a time.

- `preprocessing`: steps before the vocabulary, and their inverse: `Normaliser`, registry `STEPS`
- `symbols`: typed symbols in place of numbers, names and acronyms: `Symbolizer`
- `vocabulary`: SentencePiece model of one language: `Vocabulary`, `VocabularyConfig`
- `word_list`: vocabulary of another program: `WordList`
"""
