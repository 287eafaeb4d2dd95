"""Views of a score matrix: terminal tables, Markdown and CSV, heat maps, and their export."""
