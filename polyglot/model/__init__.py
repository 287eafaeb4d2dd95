"""The model: encoders, bridges and decoders by name, and what is minimised."""
