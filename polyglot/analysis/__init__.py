"""What the options of a run have learnt, as the tables and figures of their papers.

- `roles`: which words take which roles, and how well that agrees with known senses
- `graphs`: who is whose head in a latent graph
- `charts`: the neighbours of a word and the axes they lie along
- `heads`: where the bridge looks, in several languages side by side
- `words`: which words a decoder predicts, what search among few of them keeps; `copies`: numbers and names that are copied
- `agreement`: clusters beside true labels; `text`: sentences as pieces, with what is known of them; `page`: one result as JSON, Markdown,
PNG
"""
