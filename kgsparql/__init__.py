"""Ask any RDF graph a question; every claim comes with the triples it rests on."""
