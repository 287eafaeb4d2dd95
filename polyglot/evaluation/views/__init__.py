"""Scores as tables, pages and pictures."""
