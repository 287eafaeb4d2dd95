"""Report: a run as one web page that needs no network and no other file.

- `files`: reads the run directory; `analyses`: the analyses of sentence embeddings in it
- `section`: one part of the page; `sections/`: all parts, one file each, in the order of the page
- `charts`: curves as SVG, each with a table of its numbers
- `page`: builds the page, escapes all text and allows only our own script
- `templates/`: HTML, style and script
"""

from .page import write

__all__ = ["write"]
