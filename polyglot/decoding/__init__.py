"""Search for translations: greedy and beam search over any decoder."""
