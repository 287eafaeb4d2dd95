"""The program on another device than the CPU, on stand-ins for a GPU; see `rules.py`."""
