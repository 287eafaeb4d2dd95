"""Tables of BLEU scores from papers, one YAML file each in `evaluation/references/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from polyglot.config.loading import check_settings
from polyglot.core import presets
from polyglot.core.errors import unknown_name
from polyglot.core.language_codes import find_language
from polyglot.core.registry import ComponentConfig
from polyglot.core.yaml import read_yaml
from polyglot.tasks.pairs import LanguagePair, pair_kind


class Reference(ComponentConfig):
    """A table of BLEU scores from a paper."""

    title: str
    """Title in tables and pictures."""
    source: str
    """The paper and its table."""
    kind: str
    """Model of the paper."""
    test_set: str
    """Text that was translated."""
    signature: str
    """How the paper computed the scores."""
    condition: str
    """What must be equal before our scores may be compared."""
    languages: list[str]
    """In the order of the paper."""
    trained: list[str]
    """Trained pairs."""
    copies: bool
    """Whether monolingual copies were trained as well."""
    scores: dict[str, float]
    """BLEU by pair."""

    @classmethod
    def load(cls, name: str) -> Reference:
        """Read a table by its name. Raises ConfigError with every problem."""
        values = read_yaml(reference_files()[name])
        return check_settings(cls, values, where=f"references/{name}")

    def score(self, pair: LanguagePair) -> float | None:
        """Score of a pair in any spelling of its languages; None without one."""
        source = find_language(pair.source, self.languages)
        target = find_language(pair.target, self.languages)
        return self.scores.get(f"{source}-{target}")

    def kind_of(self, pair: LanguagePair) -> str:
        """Kind of a pair in the model of the paper: `copy`, `supervised` or `zero-shot`."""
        return pair_kind(pair, [LanguagePair.parse(trained) for trained in self.trained])


def reference_files() -> Mapping[str, Any]:
    """Files of all tables by name."""
    folder = presets.folder("evaluation") / "references"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _check_reference_name(name: str) -> str:
    """Raise ValueError for an unknown table."""
    if name not in reference_files():
        raise ValueError(unknown_name("reference", name, reference_files()))
    return name


ReferenceName = Annotated[str, AfterValidator(_check_reference_name)]
"""Name of a table in a configuration."""
