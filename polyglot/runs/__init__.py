"""Run directories and checkpoints.

- `run`: paths, configuration and vocabularies of a run; `compatibility`: do checkpoints fit to it
- `run_folder`: what is at the place of a run; `fixed_settings`: settings that cannot change
- `hub_files`, `hub_session`: download runs from the hub; `stored_results`: where results are
- `checkpoint`, `checkpoint_writing`, `manifest`: read, choose and write checkpoints
- `parameters`, `averaging`: use the parameters of checkpoints
- `stored_settings`, `config_changes`: changes of `config.yaml`; `vocabulary_files`: checksums
- `integrity`, `result_checks`: the state of every file
- `steps`: steps that have a checkpoint; `detection`: is a folder a run
- `export`, `add_language`: new runs from a run
"""
