"""An embedded corpus: real sentences in six languages, generated from their meaning by small grammars.

- `corpus`: from a seed to sentences: `generate`, `splits`, `LANGUAGES`
- `sentence`: `Sentence`, `Token`; text, tree and alignment
- `meaning`: what a sentence says, before any language says it
- `world`, `people`, `events`: who and what there is, and what can happen
- `cast`, `generation`: thinking of something to say
- `grammar`: what the languages share; `english`, `german`, `french`, `spanish`, `czech`, `finnish`: how each says it
- `phrase`: words in order, with their heads, while a sentence is being built
- `lexicon`: the words and their forms
"""

from __future__ import annotations

from polyglot.phrasebook.corpus import LANGUAGES, generate, splits
from polyglot.phrasebook.sentence import Sentence, Token

__all__ = ["LANGUAGES", "Sentence", "Token", "generate", "splits"]
