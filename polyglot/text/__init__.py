"""Between lines of text and piece numbers, one language at a time.

- `normalisation`: steps before the vocabulary, undone on output where they can be: `Normaliser`, the registry `STEPS`
- `symbols`: typed symbols in the place of numbers, names and acronyms: `Symbolizer`
- `vocabulary`: SentencePiece, one model of each language: `Vocabulary`, `VocabularyConfig`
"""
