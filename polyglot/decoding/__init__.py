"""From a memory to words: greedy and beam search."""
