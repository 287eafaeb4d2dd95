"""Embedded corpus: sentences in six languages, generated from their meaning by small grammars.

- `corpus`: sentences from a seed: `generate`, `splits`, `LANGUAGES`
- `sentence`: `Sentence`, `Token`; text, tree and alignment
- `meaning`: the meaning of a sentence, independent of the language
- `world`, `people`, `events`: things, people, and the events that are possible
- `cast`, `generation`: random meanings
- `grammar`: base class of the grammars `english`, `german`, `french`, `spanish`, `czech`, `finnish`
- `phrase`: words in order with their heads, while a sentence is built
- `lexicon`: the words and their forms
"""

from __future__ import annotations

from polyglot.phrasebook.corpus import LANGUAGES, generate, splits
from polyglot.phrasebook.sentence import Sentence, Token

__all__ = ["LANGUAGES", "Sentence", "Token", "generate", "splits"]
