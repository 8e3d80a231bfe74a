"""Runs: what is asked, how, and what came of it, in a directory that can be gone on with."""
