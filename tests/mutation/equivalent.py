"""Mutants that change no behaviour, with the reason; each was confirmed by a second reader."""

from __future__ import annotations

FUSED = "the fused kernel computes the same formula as the loop over the parameters, only faster"

EQUIVALENT: dict[str, str] = {
    "polyglot/optim/optimizers.py::Adam.__init__: True -> False": FUSED,
    "polyglot/optim/optimizers.py::AdamW.__init__: True -> False": FUSED,
    "polyglot/optim/optimizers.py::Muon.__init__: True -> False": FUSED,
    "polyglot/config/pydantic_errors.py::_findings: False -> True": (
        "the address of pydantic's page is added to each error, and nothing reads it"
    ),
}
"""Reason for each key of `Mutant.key`."""
