"""Builders of tiny models, runs and command lines for tests."""
