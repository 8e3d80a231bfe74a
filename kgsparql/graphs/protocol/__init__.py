"""The SPARQL protocol as it is spoken to endpoints: requests with manners, and replies that are believed only whole."""
