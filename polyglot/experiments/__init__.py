"""Several runs that answer one question: trained if they are missing, evaluated alike, compared with a paper, on one page.

- `settings`: the YAML file, and its sizes
- `members`: the runs that it consists of; `training`: those that are missing, several at once
- `writers`: who writes the translations, one run or several together
- `experiment`: from the file to the results; interrupted, it goes on where it was
- `results`: what was found, system by system, over seeds
- `page`: `result.md`; `figure`: `result.png`
"""

from polyglot.experiments.config import Experiment
from polyglot.experiments.runner import carry_out

__all__ = ["Experiment", "carry_out"]
