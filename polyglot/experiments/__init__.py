"""Experiments: several runs that answer a question, trained, evaluated and compared on one page.

- `config`: the experiment file; `settings`: its systems, goals and sizes
- `baselines`, `consistency`: which systems are compared; checks of the whole file
- `runs`: the run directories; `checks`: what is checked before training
- `train_all`, `launcher`: training of the missing runs, several at once
- `systems`: runs and ensembles that translate
- `runner`: from the file to the results; an interrupted experiment continues
- `system_result`, `results`, `goal_results`: scores over seeds, comparisons, goals
- `result_file`: `result.json`; `results_page`, `result_tables`: `result.md`; `figure`: `result.png`
"""

from polyglot.experiments.config import Experiment
from polyglot.experiments.runner import run_experiment

__all__ = ["Experiment", "run_experiment"]
