"""Runs: questions asked with methods, and their records, in a directory from which a run can be resumed.

Open :mod:`.plan` first: what a run asks, and how; then :mod:`.directory`, which keeps it.
"""
