"""How good a run is, direction by direction.

- `scores`: sacreBLEU's metrics, each score with its signature
- `protocol`: what is scored and how, one YAML file each; the papers' tables beside it
- `evaluation`: all directions of a run with one load of the model
- `matrix`: what that gives, written to the run directory and read again
- `views`: the matrix as a table in the terminal, Markdown and CSV; `heat_map`: as a picture
- `validation`: held-out text during training
- `heldout`: the text itself, for validation and matrix alike
"""
