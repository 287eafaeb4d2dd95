"""Views of a score matrix: tables in the terminal, Markdown and CSV, heat maps, and their export."""
