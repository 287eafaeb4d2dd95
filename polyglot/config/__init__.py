"""The configuration of a run: schema, loading and checks."""
