"""Foundations without a model: errors, registry, YAML, files, signals, console."""
