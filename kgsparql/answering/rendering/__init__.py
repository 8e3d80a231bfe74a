"""Answers as text: for a person, for Markdown, and as lines or rows for other programs. Open first: ``formats.py``."""
