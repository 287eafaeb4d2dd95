"""Translation, scoring and sentence embeddings of a trained run."""
