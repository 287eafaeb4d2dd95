"""Typed symbols in the place of numbers, names and acronyms, there and back (Choi, Cho and Bengio 2017, section 4).

- `writing`: how a symbol stands in a line and is put back: `write`, `desymbolize`, `without_rule`
- `numbers`, `words`: what a line has for symbols: numbers and the habits of languages in writing them; names and acronyms
- `dictionary`: what training text has shown to match: `Dictionary`
- `symbolizer`: lines and pairs of lines to symbols and rules: `Symbolizer`, `SymbolsConfig`
- `statistics`: what symbols do to the words of a text: `Statistics`
"""

from .dictionary import Dictionary
from .statistics import Statistics
from .symbolizer import Symbolized, Symbolizer, SymbolsConfig
from .writing import desymbolize, without_rule

__all__ = [
    "Dictionary",
    "Statistics",
    "Symbolized",
    "Symbolizer",
    "SymbolsConfig",
    "desymbolize",
    "without_rule",
]
