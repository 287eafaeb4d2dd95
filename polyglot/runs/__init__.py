"""Run directories and checkpoints.

- `run`: paths, configuration and vocabularies of a run; `compatibility`: do checkpoints fit to it
- `checkpoint`, `manifest`: write, read and choose checkpoints
- `parameters`, `averaging`: use the parameters of checkpoints
- `steps`: steps that have a checkpoint
- `export`, `add_language`: new runs from a run
"""
