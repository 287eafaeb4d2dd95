"""The words of the phrasebook, one file per language; every file names the same senses."""
