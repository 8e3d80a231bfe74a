"""Pictures of what an answer rests on: one layered drawing, written as SVG, DOT, Mermaid or JSON.

Open first: ``drawing.py``.
"""
