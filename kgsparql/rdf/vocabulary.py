"""Predicates whose meaning kgsparql knows: labels, descriptions, types, and predicates that are not walked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from kgsparql.rdf.terms import IRI, BlankNode, Term, Triple

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_DC = "http://purl.org/dc/elements/1.1/"
_DCTERMS = "http://purl.org/dc/terms/"
_FOAF = "http://xmlns.com/foaf/0.1/"
_OBO = "http://www.geneontology.org/formats/oboInOwl#"
_DBO = "http://dbpedia.org/ontology/"
_WIKIBASE = "http://wikiba.se/ontology#"
_ONTOLEX = "http://www.w3.org/ns/lemon/ontolex#"

RDF_TYPE = IRI(_RDF + "type")
CLASS_KINDS = (IRI(_RDFS + "Class"), IRI(_OWL + "Class"), IRI(_OWL + "Restriction"))
"""What is declared to be one of these is a class."""
SUBCLASS_OF = IRI(_RDFS + "subClassOf")
INSTANCE_OF = IRI("http://www.wikidata.org/prop/direct/P31")
"""Wikidata's ``rdf:type``."""
SAME_AS = IRI(_OWL + "sameAs")
EXACT_MATCH = IRI(_SKOS + "exactMatch")

LABELS = (
    IRI(_RDFS + "label"),
    IRI(_SKOS + "prefLabel"),
    IRI("http://schema.org/name"),
    IRI("https://schema.org/name"),
    IRI(_FOAF + "name"),
    IRI(_DCTERMS + "title"),
    IRI(_DC + "title"),
    IRI(_ONTOLEX + "writtenRep"),
)
"""Label predicates, the best first."""

ALTERNATIVE_LABELS = (
    IRI(_SKOS + "altLabel"),
    IRI("http://schema.org/alternateName"),
    IRI("https://schema.org/alternateName"),
    IRI(_DBO + "alias"),
    IRI(_OBO + "hasExactSynonym"),
    IRI(_FOAF + "nick"),
)

DESCRIPTIONS = (
    IRI("http://schema.org/description"),
    IRI("https://schema.org/description"),
    IRI(_SKOS + "definition"),
    IRI(_OBO + "hasDefinition"),
    IRI("http://purl.obolibrary.org/obo/IAO_0000115"),  # definition
    IRI(_RDFS + "comment"),
    IRI(_DBO + "abstract"),
    IRI(_DCTERMS + "description"),
    IRI(_DC + "description"),
)

PREDICATE_LABEL_LINKS = tuple(
    IRI(_WIKIBASE + name) for name in ("directClaim", "claim", "statementProperty", "qualifier", "reference")
)
"""Wikidata labels its properties on another node; these predicates lead from that node to the used predicate."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The predicates by which a graph names things.

    :param links: predicates from the node with a predicate's label to the predicate itself.
    """

    labels: tuple[IRI, ...] = LABELS
    links: tuple[IRI, ...] = PREDICATE_LABEL_LINKS

    @property
    def names(self) -> tuple[IRI, ...]:
        """The predicates of labels and alternative labels."""
        return (*self.labels, *(predicate for predicate in ALTERNATIVE_LABELS if predicate not in self.labels))


_CALLED_NAME = re.compile("[/#:](?:name|label|prefLabel|title)$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def may_be_name(predicate: IRI) -> bool:
    """Tell whether a predicate is a usual label predicate, or is called like one, as in ``labels_by_name.rq``."""
    return predicate in LABELS or _CALLED_NAME.search(predicate.value) is not None


UNWALKED = frozenset(
    (
        *(RDF_TYPE, SAME_AS, *LABELS, *ALTERNATIVE_LABELS, *DESCRIPTIONS, *PREDICATE_LABEL_LINKS),
        *(IRI(_RDF + name) for name in ("first", "rest")),
        *(IRI(_RDFS + name) for name in ("seeAlso", "isDefinedBy")),
        *(IRI(f"{_DBO}wikiPage{name}") for name in ("WikiLink", "ExternalLink", "Redirects", "Disambiguates")),
        IRI("http://www.w3.org/ns/prov#wasDerivedFrom"),
        IRI(_FOAF + "isPrimaryTopicOf"),
    )
)
"""Predicates that are read but not walked: they give names and types, not relations between terms."""

PICTURES_AND_PAGES = frozenset(
    (
        *(IRI(_FOAF + name) for name in ("depiction", "thumbnail", "img", "homepage", "page")),
        *(IRI(f"{scheme}://schema.org/image") for scheme in ("http", "https")),
    )
)
"""Predicates that lead to a picture of a thing or a page about it."""

_CLAIM_PARTS = re.compile(
    r"/prop/(?:(?P<kind>direct|direct-normalized|statement|qualifier|reference|novalue)/)?"
    r"(?P<normalized>value/|value-normalized/)?(?P<property>P[1-9][0-9]*)\Z"
)
"""The predicates that a Wikibase, such as Wikidata, has for each of its properties."""

STATEMENT = "/entity/statement/"
"""The part that the IRI of every statement of a Wikibase has."""


def claim_part(predicate: IRI) -> tuple[str, str] | None:
    """Tell which part of a Wikibase statement a predicate leads to, and of which property; ``None`` for others.

    ``direct`` leads from an entity to a value, ``claim`` from an entity to a statement, which has a ``statement``
    (the value) and may have a ``qualifier``; ``other`` are references, normalised values and the like.
    """
    found = _CLAIM_PARTS.search(predicate.value)
    if found is None:
        return None
    kind = found["kind"] or "claim"
    is_plain = found["normalized"] is None and kind in {"direct", "claim", "statement", "qualifier"}
    return (kind if is_plain else "other", found["property"])


def claim_kind(predicate: Term) -> str:
    """Tell which part of a Wikibase statement a predicate leads to; empty for other terms."""
    part = claim_part(predicate) if isinstance(predicate, IRI) else None
    return part[0] if part else ""


def statement_value(claim: IRI) -> IRI:
    """Make the predicate from a Wikibase statement to its value of the one that leads to the statement."""
    before, _, name = claim.value.rpartition("/")
    return IRI(f"{before}/statement/{name}")


def is_statement(term: Term) -> bool:
    """Tell whether a term is a statement of a Wikibase."""
    return isinstance(term, IRI) and STATEMENT in term.value


def is_mediator(term: Term) -> bool:
    """Tell whether a term has no name for a reader: a blank node, a quoted triple, or a Wikibase statement."""
    return isinstance(term, BlankNode | Triple) or is_statement(term)
