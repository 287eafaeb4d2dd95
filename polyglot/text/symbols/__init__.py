"""Typed symbols in place of numbers, names and acronyms (Choi, Cho and Bengio 2017, section 4).

- `writing`: notation of symbols in a line: `write`, `desymbolize`, `count_without_rule`
- `numbers`, `words`: find numbers, names and acronyms in a line
- `dictionary`: names and acronyms that match in training text: `Dictionary`
- `symbolizer`: replace them by symbols with rules: `Symbolizer`, `SymbolsConfig`
- `statistics`: word counts before and after: `Statistics`
"""

from polyglot.text.symbols.dictionary import Dictionary
from polyglot.text.symbols.statistics import Statistics
from polyglot.text.symbols.symbolizer import Symbolized, Symbolizer, SymbolsConfig
from polyglot.text.symbols.writing import count_without_rule, desymbolize

__all__ = [
    "Dictionary",
    "Statistics",
    "Symbolized",
    "Symbolizer",
    "SymbolsConfig",
    "count_without_rule",
    "desymbolize",
]
