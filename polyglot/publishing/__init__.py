"""Publish a run on the Hugging Face hub.

- `push`: write the files of a run to a folder, and upload them as one commit
- `run_folder`: choose and write these files
- `model_card`, `card_metadata`, `training_text`: the page that the hub shows
- `unknown_pieces`: measure the test text that a vocabulary does not cover
"""
