"""How good a run is, direction by direction.

- `conditions`: on what text a score is made, and what a measure is
- `scores`: sacreBLEU's metrics, each score with its signature; `comet`: COMET, where its package is
- `outputs`: what is wrong with outputs beside their scores, such as another language
- `protocol`: what is scored and how, one YAML file each; the papers' tables beside it
- `evaluation`: all directions of a run with one load of the model; `together`: translated in common batches
- `matrix`: what that gives, written to the run directory and read again; `store`: its folder, and what is used again
- `views`: the matrix as tables in the terminal; `pages`: as Markdown and CSV; `heat_map`: as a picture
- `comparison`: systems beside each other, of one run or several, and what is significant; `experiments`: several runs that answer one question
- `validation`: held-out text during training
- `heldout`: the text itself, for validation and matrix alike
"""
