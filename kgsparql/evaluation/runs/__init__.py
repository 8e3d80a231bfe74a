"""Runs: questions asked with methods, and their records, in a directory from which a run can be resumed.

Open :mod:`.plan` first: what a run asks; then :mod:`.running`, which asks it, and :mod:`.directory`, which keeps it.
"""
