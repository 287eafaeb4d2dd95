"""Words of the phrasebook, one file for each language; every file has the same senses."""
