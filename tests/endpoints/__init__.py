"""Endpoints: a real SPARQL server, and one that does everything wrong."""
