"""Trials of the program under bad conditions.

- `python -m tests.torture` runs them and prints a table (`make torture`)
- `trial`: a trial, its outcome and the table; `workplace`: the run that trials copy
- `kills`, `damage`, `disks`, `races`, `hostile`, `fuzzing`: the areas
- `test_torture.py`: a few trials of each area in the suite; `test_fuzz.py`: random input
"""
