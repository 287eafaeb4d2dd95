"""Mutants that change no behaviour, with the reason; each was confirmed by a second reader."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {
    "polyglot/optim/optimizers.py::Muon.__init__: fused=True, -> fused=False,": (
        "the fused kernel computes the formula of the loop over the parameters, only faster; "
        "nothing asks the inner optimizer whether it is fused, not even the loss scaler"
    ),
    "polyglot/config/pydantic_errors.py::_findings: "
    "for details in error.errors(include_url=False): -> "
    "for details in error.errors(include_url=True):": (
        "the address of pydantic's page is added to each error, and nothing reads it"
    ),
}
"""Reason for each key of `Mutant.key`."""
