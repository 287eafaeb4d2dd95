"""Analyses of trained models: tables and figures of the papers.

- `roles`: roles of words, and their agreement with known senses (`piece_roles`, `role_agreement`)
- `latent_graph`: head distributions of an encoder
- `word_neighbours`: neighbours of a word in the embedding matrix
- `bridge_attention`: attention of the bridge heads
- `word_prediction`: predicted words, vocabulary selection, copied numbers and names
  (`predicted_words`, `selection_quality`, `copy_accuracy`)
- `embeddings`: sentence embeddings
- `annotated_text`, `clustering`, `figures`, `page`: used by all of them
"""
