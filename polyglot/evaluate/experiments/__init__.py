"""Several runs that answer one question: trained if they are missing, evaluated alike, compared with a paper, on one page.

- `experiment`: the YAML file, and from it to the results; interrupted, it goes on where it was
- `results`: what was found, system by system, over seeds
- `page`: `result.md`; `figure`: `result.png`
"""

from .experiment import Experiment, carry_out

__all__ = ["Experiment", "carry_out"]
