"""A run as one web page that needs nothing else: no network, no other file.

- `files`: what there is in the run directory; only that is read
- `section`: a part of the page; `sections/`: all of them, one file each, in the order of the page
- `charts`: curves as SVG, each with its numbers as a table
- `page`: puts it together, escapes all text, and lets only our own script run
- `templates/`: HTML, style and script
"""

from .page import write

__all__ = ["write"]
