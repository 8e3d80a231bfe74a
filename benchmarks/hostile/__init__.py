"""The scorecard of hostile inputs: every row of a catalogue of 145, run against an installed kgsparql."""
