"""Measuring methods on questions with known answers: datasets, runs that resume, metrics, comparisons."""
