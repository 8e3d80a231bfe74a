"""Predicates whose meaning kgsparql knows: labels, descriptions, types, and predicates that are not walked."""

from __future__ import annotations

import re
from functools import lru_cache

from kgsparql.dataclasses import frozen
from kgsparql.rdf.terms import IRI, Literal, Term

_NAMESPACES = dict(
    line.split()
    for line in """
        rdf http://www.w3.org/1999/02/22-rdf-syntax-ns#
        rdfs http://www.w3.org/2000/01/rdf-schema#
        owl http://www.w3.org/2002/07/owl#
        skos http://www.w3.org/2004/02/skos/core#
        dc http://purl.org/dc/elements/1.1/
        dcterms http://purl.org/dc/terms/
        foaf http://xmlns.com/foaf/0.1/
        vcard http://www.w3.org/2006/vcard/ns#
        schema http://schema.org/
        schemas https://schema.org/
        obo http://purl.obolibrary.org/obo/
        oboInOwl http://www.geneontology.org/formats/oboInOwl#
        dbo http://dbpedia.org/ontology/
        wikibase http://wikiba.se/ontology#
        wdt http://www.wikidata.org/prop/direct/
        ontolex http://www.w3.org/ns/lemon/ontolex#
        prov http://www.w3.org/ns/prov#
        skosxl http://www.w3.org/2008/05/skos-xl#
        bf http://id.loc.gov/ontologies/bibframe/
        void http://rdfs.org/ns/void#
        dcat http://www.w3.org/ns/dcat#
        sh http://www.w3.org/ns/shacl#
    """.strip().splitlines()
)


def _known_iris(curies: str) -> tuple[IRI, ...]:
    pairs = (curie.split(":") for curie in curies.split())
    return tuple(IRI(_NAMESPACES[prefix] + name) for prefix, name in pairs)


(EQUIVALENT_CLASS, ON_PROPERTY, DISJOINT_WITH, DISJOINT_MEMBERS) = _known_iris(
    "owl:equivalentClass owl:onProperty owl:disjointWith owl:members"
)
(SUBPROPERTY_OF, EQUIVALENT_PROPERTY, INVERSE_OF, SYMMETRIC, TRANSITIVE) = _known_iris(
    "rdfs:subPropertyOf owl:equivalentProperty owl:inverseOf owl:SymmetricProperty owl:TransitiveProperty"
)
RESTRICTED_TO = _known_iris("owl:someValuesFrom owl:allValuesFrom owl:hasValue owl:onClass")
"""Lead from a restriction to the class or the thing that its property leads to."""
EXISTENTIAL = (RESTRICTED_TO[0], RESTRICTED_TO[2])
"""The same, where something does: ``allValuesFrom`` says only what would not."""
(RDF_TYPE, SUBCLASS_OF, SAME_AS, EXACT_MATCH) = _known_iris("rdf:type rdfs:subClassOf owl:sameAs skos:exactMatch")
(INSTANCE_OF, CLASS_ABOVE, BROADER) = _known_iris("wdt:P31 wdt:P279 skos:broader")
"""Wikidata's ``rdf:type`` and ``rdfs:subClassOf``, and what leads to what is wider in a thesaurus."""
TAXONOMY = (BROADER, SUBCLASS_OF, INSTANCE_OF, CLASS_ABOVE)
"""Lead to what is wider."""
CLASS_KINDS = _known_iris("rdfs:Class owl:Class owl:Restriction")
"""What is declared to be one of these is a class."""
OF_ONTOLOGIES = tuple(_NAMESPACES[name] for name in ("rdf", "rdfs", "owl"))
"""How the IRIs of classes begin whose instances are the terms of an ontology, and no things."""
ASKED_OF_ONTOLOGIES = frozenset(
    _known_iris("rdfs:subClassOf owl:deprecated owl:versionInfo owl:disjointWith rdf:value")
)
"""The predicates of these vocabularies that say something of things; the others define terms."""
LABELS = _known_iris(
    "rdfs:label skos:prefLabel schema:name schemas:name foaf:name vcard:fn dcterms:title dc:title ontolex:writtenRep"
)
"""Label predicates, the best first."""
ALTERNATIVE_LABELS = _known_iris(
    "skos:altLabel skos:hiddenLabel schema:alternateName schemas:alternateName dbo:alias oboInOwl:hasExactSynonym "
    "foaf:nick obo:IAO_0000118"
)
(SHAPE_PATH, SHAPE_NAME) = _known_iris("sh:path sh:name")
"""Lead from a shape to its predicate, and to what that is called."""
_FORM, *_XL_LABELS = _known_iris("skosxl:literalForm skosxl:prefLabel skosxl:altLabel skosxl:hiddenLabel")
_TITLE, _MAIN_TITLE = _known_iris("bf:title bf:mainTitle")
LABEL_NODES = {**dict.fromkeys(_XL_LABELS, _FORM), _TITLE: _MAIN_TITLE}
"""Lead to a node that has a label of a thing, each with the predicate of the text: of SKOS-XL and BIBFRAME."""
(CONCEPT,) = _known_iris("skos:Concept")
DESCRIPTIONS = _known_iris(
    "schema:description schemas:description skos:definition oboInOwl:hasDefinition obo:IAO_0000115 rdfs:comment "
    "dbo:abstract dcterms:description dc:description"
)
PREDICATE_LABEL_LINKS = _known_iris(
    "wikibase:directClaim wikibase:claim wikibase:statementProperty wikibase:qualifier wikibase:reference"
)
"""Wikidata labels its properties on another node; these predicates lead from that node to the used predicate."""
(REIFIES, *STATEMENT_PARTS) = _known_iris("rdf:reifies rdf:subject rdf:predicate rdf:object")
"""Lead from what stands for a fact to the fact, or to its parts."""
LIST_FIRST, LIST_REST, LIST_END = _known_iris("rdf:first rdf:rest rdf:nil")
(DERIVED_FROM,) = _known_iris("prov:wasDerivedFrom")
WORDS = (IRI("http://qlever.cs.uni-freiburg.de/builtin-functions/has-word"),)
"""Leads from a literal to each of its words, where a QLever was told to make such triples."""
UNWALKED = frozenset(
    (
        *(RDF_TYPE, SAME_AS, *LABELS, *ALTERNATIVE_LABELS, *DESCRIPTIONS, *PREDICATE_LABEL_LINKS),
        *(LIST_FIRST, LIST_REST, *LABEL_NODES, *LABEL_NODES.values()),
        *_known_iris("rdfs:seeAlso rdfs:isDefinedBy foaf:isPrimaryTopicOf"),
        DERIVED_FROM,
        *_known_iris("dbo:wikiPageWikiLink dbo:wikiPageExternalLink dbo:wikiPageRedirects dbo:wikiPageDisambiguates"),
    )
)
"""Predicates that are read but not walked: they give names and types, not relations between terms."""
PICTURES_AND_PAGES = _known_iris(
    "foaf:depiction foaf:thumbnail foaf:img foaf:homepage foaf:page schema:image schemas:image"
)
"""Predicates that lead to a picture of a thing or a page about it."""
PAGES = (
    *PICTURES_AND_PAGES,
    *_known_iris(
        "foaf:isPrimaryTopicOf rdfs:seeAlso dcterms:license dcterms:rights schema:url schemas:url schema:license "
        "schemas:license dcat:landingPage dcat:accessURL dcat:downloadURL dbo:wikiPageExternalLink"
    ),
)
"""Predicates that lead to the address of a page or file."""


@frozen
class Naming:
    """The predicates by which a graph names things.

    :param links: predicates from the node with a predicate's label to the predicate itself.
    :param pages: predicates that lead to web pages, whose addresses are no names.
    :param measured: those labels that only what they say shows to be names: one still asks for them by their own word.
    """

    labels: tuple[IRI, ...] = LABELS
    links: tuple[IRI, ...] = PREDICATE_LABEL_LINKS
    pages: tuple[IRI, ...] = PAGES
    measured: tuple[IRI, ...] = ()

    @property
    def names(self) -> tuple[IRI, ...]:
        """The predicates of labels and alternative labels."""
        return (*self.labels, *(predicate for predicate in ALTERNATIVE_LABELS if predicate not in self.labels))


_CALLED_NAME = re.compile(
    r"[/#:](?:name|(?:pref|authoritative)?label|title|fn|(?:preferred|full)Name\w*)$", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def may_be_name(predicate: IRI) -> bool:
    """Tell whether a predicate is a usual label predicate, or is called like one, as in ``labels_by_name.rq``."""
    return predicate in LABELS or _CALLED_NAME.search(predicate.value) is not None


_CALLED_PAGE = re.compile(
    r"[/#:](?:has)?(?:(?:home|web|landing)?_?page|web_?site|seeAlso|licen[cs]e|image|depiction|thumbnail|logo|download"
    r"|distribution|\w*ur[il])$",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def leads_to_pages(predicate: IRI) -> bool:
    """Tell whether a predicate is known to lead to web pages, or is called as if it does."""
    return predicate in PAGES or _CALLED_PAGE.search(predicate.value) is not None


_MEANS_SOMETHING = re.compile(r"[^\W\d_]{3}")
_NOT_A_NAME = re.compile(
    r"[%?=&@]|::|\.(?:jpe?g|png|gif|svg|tiff?|pdf|x?html?|php|ogg|webm|mp[34]|owl|obo|ttl|nt|rdf|jsonl?|xml|csv|tsv|txt"
    r"|zip|t?gz)$",
    re.IGNORECASE,
)


def has_readable_end(name: str) -> bool:
    """Tell whether the end of an IRI means something to a person: words, not ``Q42``, ``m.0abc``, a UUID or ``a.jpg``.

    >>> [has_readable_end(n) for n in ("New York", "Q42", "m.0h6rm", "1e0eae5f 25ae 4ef9", "東京", "Flag.svg")]
    [True, False, False, False, True, False]
    """
    if _NOT_A_NAME.search(name) or sum(map(str.isdigit, name)) * 3 > len(name):
        return False
    has_signs = any(sign.isalpha() and sign.lower() == sign.upper() for sign in name)  # one of Chinese is a word
    return has_signs or _MEANS_SOMETHING.search(name) is not None


_CLAIM_PARTS = re.compile(
    r"/prop/(?:(?P<kind>direct|direct-normalized|statement|qualifier|reference|novalue)/)?"
    r"(?P<normalized>value/|value-normalized/)?(?P<property>P[1-9][0-9]*)\Z"
)
"""The predicates that a Wikibase, such as Wikidata, has for each of its properties."""

STATEMENT = "/entity/statement/"
"""The part that the IRI of every statement of a Wikibase has."""


RANK, DEPRECATED_RANK, PREFERRED_RANK, PRECISION = _known_iris(
    "wikibase:rank wikibase:DeprecatedRank wikibase:PreferredRank wikibase:timePrecision"
)


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


def statement_claim(direct: IRI) -> IRI | None:
    """Make the predicate to statements of the one that leads to their values alone; ``None`` of what is none such."""
    part = claim_part(direct)
    return IRI(direct.value.replace("/direct/", "/")) if part is not None and part[0] == "direct" else None


def is_wikibase_item(iri: str) -> bool:
    """Tell whether an IRI is of an item of a Wikibase, which is a class by what is said to be one of it.

    >>> is_wikibase_item("http://www.wikidata.org/entity/Q515"), is_wikibase_item("http://example.org/City")
    (True, False)
    """
    return re.search(r"/entity/Q[1-9][0-9]*\Z", iri) is not None


def direct_claim(iri: str) -> str:
    """Return the predicate of a property of a Wikibase; what is none as it is.

    >>> direct_claim("http://www.wikidata.org/entity/P6"), direct_claim("http://example.org/author")
    ('http://www.wikidata.org/prop/direct/P6', 'http://example.org/author')
    """
    return re.sub(r"/entity/(P[1-9][0-9]*)\Z", r"/prop/direct/\1", iri)


def qualifier(name: str) -> IRI:
    """Make the qualifier of a property of Wikidata.

    >>> qualifier("P580").value
    'http://www.wikidata.org/prop/qualifier/P580'
    """
    return IRI(f"http://www.wikidata.org/prop/qualifier/{name}")


def qualifier_value(by: IRI) -> IRI | None:
    """Make the predicate to the node with a value and its precision of a qualifier of a Wikibase; ``None`` of others.

    >>> qualifier_value(qualifier("P580")).value
    'http://www.wikidata.org/prop/qualifier/value/P580'
    """
    before, found, name = by.value.rpartition("/prop/qualifier/")
    return IRI(f"{before}{found}value/{name}") if found else None


def is_unknown(term: Term | None) -> bool:
    """Tell whether a term stands for what nobody knows, as Wikibase writes it: there is one, and not which."""
    return isinstance(term, IRI) and "wikidata.org/.well-known/genid/" in term.value


def is_mediator(term: Term) -> bool:
    """Tell whether a term has no name for a reader: a blank node, a quoted triple, or a Wikibase statement."""
    return STATEMENT in term.value if isinstance(term, IRI) else not isinstance(term, Literal)
