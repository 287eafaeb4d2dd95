"""Scores of a run, direction by direction.

Evaluation, in the order of its steps:

- `protocol`: what is translated and how it is scored, one YAML file each
- `plan`: what a protocol means for a run
- `held_out`, `evaluation_text`: sources and references
- `cache_keys`, `results_cache`: directions that were translated before are used again
- `route_translation`, `batched_translation`: translation of all directions, also through a pivot
- `measures`, `metrics`, `comet`, `output_errors`, `scoring`: scores of the translations
- `score_matrix`: the result, which a run directory stores
- `evaluator`: all steps together

Use of the results:

- `grid`: one measure of a matrix; `views`: tables, pages and pictures
- `significance`: comparison of systems, with significance tests
- `references`: tables of papers to compare with
- `provenance`: descriptions of corpora and machines
- `resampling`: bootstrap and randomisation in little memory
- `sacrebleu_internals`: the only use of private functions of sacreBLEU
"""
