"""The model: encoders, bridges and decoders by name, options, and the losses of training."""
