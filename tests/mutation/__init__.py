"""Mutation testing: `python -m tests.mutation` changes one expression and runs the package's
tests.
"""
