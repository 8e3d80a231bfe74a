"""SPARQL that must be refused, and SPARQL that must not."""

from collections.abc import Iterator

WORDS = {
    "SERVICE": "SELECT * {{ {} <http://e.org/sparql> {{ ?s ?p ?o }} }}", "LOAD": "{} <http://e.org/data.ttl>",
    "FROM": "SELECT * {} <http://e.org/g> {{ ?s ?p ?o }}", "NAMED": "SELECT * FROM {} <http://e.org/g> {{ ?s ?p ?o }}",
    "INSERT": "{} DATA {{ <http://e.org/s> <http://e.org/p> 1 }}", "DELETE": "{} WHERE {{ ?s ?p ?o }}",
    "CLEAR": "{} ALL", "DROP": "SELECT * {{ ?s ?p ?o }} ; {} ALL", "CREATE": "{} GRAPH <http://e.org/g>",
    "COPY": "{} <http://e.org/a> TO <http://e.org/b>", "MOVE": "{} <http://e.org/a> TO <http://e.org/b>",
    "ADD": "{} <http://e.org/a> TO DEFAULT", "WITH": "{} <http://e.org/g> DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}",
    "USING": "DELETE {{ ?s ?p ?o }} {} <http://e.org/g> WHERE {{ ?s ?p ?o }}",
}  # fmt: skip
"""A forbidden word, and a text in which it does what it is forbidden for."""


def spellings(word: str) -> Iterator[str]:
    """Ways to write one keyword so that a search for it might not find it."""
    yield from (word, word.lower(), word.title(), word[0].lower() + word[1:])
    yield f"#{word}\n{word}"
    yield f"\n\t{word}#{word.lower()}\r\n"
    yield f"\\u{ord(word[0]):04X}{word[1:]}"
    yield f"{word[:-1]}\\U{ord(word[-1].lower()):08x}"
    yield "".join(f"\\u{ord(char):04x}" for char in word)
    yield f"#'\n{word}#'\n"
    yield f"#<\n {word} #>\n"


def prologues() -> Iterator[str]:
    """What may come before a query."""
    yield ""
    yield "BASE <http://e.org/FROM/> PREFIX service: <http://e.org/#> "
    yield "# SELECT * { ?s ?p 'x' }\n"


def forbidden() -> list[str]:
    """Every word in every spelling after every prologue, and SERVICE in every place a group can be."""
    texts = [
        prologue + text.format(spelling)
        for word, text in WORDS.items()
        for spelling in spellings(word)
        for prologue in prologues()
    ]
    service = "SERVICE <http://e.org/sparql> { ?x ?y ?z }"
    places = (
        "{}", "?s ?p ?o . {}", "?s ?p ?o OPTIONAL {{ {} }}", "{{ {} }} UNION {{ ?s ?p ?o }}", "?s ?p ?o MINUS {{ {} }}",
        "?s ?p ?o FILTER EXISTS {{ {} }}", "?s ?p ?o FILTER(NOT EXISTS {{ {} }})", "GRAPH ?g {{ {} }}",
        "{{ SELECT * {{ {} }} }}", "?s ?p 'x'@en {}", "?s ?p '''a\n'b''' {}", "?s ?p \"\\\"\" {}", "?s ?p 1.5 {}",
        "?s ?p true. {}", "?s ?p <http://e.org/#> {}", "FILTER(?a < ?b && ?c > ?d) {}", "BIND(1 AS ?x){}",
        "VALUES ?x {{ 'a' }}{}",
    )  # fmt: skip
    variants = (
        service, service.lower(), service.replace("<http://e.org/sparql>", "?where"),
        service.replace("SERVICE ", "SERVICE SILENT "), service.replace("SERVICE ", "SERVICE#\n"),
        service.replace("SERVICE ", "service\tsilent\n"), service.replace("SERVICE <", "SERVICE<"),
    )  # fmt: skip
    texts += [f"SELECT * {{ {place.format(variant)} }}" for place in places for variant in variants]
    return list(dict.fromkeys(texts))


SERVER = "<http://127.0.0.1:{port}/>"
_DECLARED = (
    "PREFIX a: <http://x:> PREFIX b: <http://e.org/> PREFIX SERVICE: <http://e.org/> "
    f"PREFIX : {SERVER} PREFIX s: {SERVER} "
)
_BOUND = f"?s ?p ?o BIND({SERVER} AS ?v)"
SECOND_READINGS = [
    f'SELECT * {{{{ ?s ?p ?o FILTER(?o<?b#>"""\n) SERVICE {SERVER} {{{{ ?x ?y ?z }}}} #""")\n}}}}',
    f"SELECT * {{{{ ?s ?p ?o FILTER(!BOUND(?no)||?o<'&&?b>') SERVICE {SERVER} {{{{ ?x ?y ?z }}}} #')\n}}}}",
    f"SELECT * {{{{ ?s ?p ?o FILTER(!BOUND(?no)||?o<'>' ) SERVICE {SERVER} {{{{ ?x ?y ?z }}}} #')\n}}}}",
    f"{_DECLARED}SELECT * {{{{ {_BOUND} SERVICE:{{{{ ?x ?y ?z }}}} }}}}",
    f"{_DECLARED}SELECT * {{{{ {_BOUND} SERVICEs: {{{{ ?x ?y ?z }}}} }}}}",
    f"{_DECLARED}SELECT * {{{{ {_BOUND} SERVICESILENTs: {{{{ ?x ?y ?z }}}} }}}}",
    f"{_DECLARED}SELECT * {{{{ {_BOUND} . ?s ?p b:c.d.SERVICEs: {{{{ ?x ?y ?z }}}} }}}}",
    f"{_DECLARED}SELECT * {{{{ {_BOUND} . ?s ?p a:SERVICE{SERVER} {{{{ ?x ?y ?z }}}} }}}}",
    f"{_DECLARED}SELECT * {{{{ {_BOUND} . ?s ?p a:SERVICEs: {{{{ ?x ?y ?z }}}} }}}}",
    f"SELECT * {{{{ {_BOUND} . ?s ?p ?oo OPTIONAL {{{{ ?s ?p trueSERVICE{SERVER} {{{{ ?x ?y ?z }}}} }}}} }}}}",
    f"SELECT * {{{{ {_BOUND} SERVICESILENT{SERVER} {{{{ ?x ?y ?z }}}} }}}}",
]
"""Texts, to be formatted with a port, that Oxigraph reads otherwise than the specification cuts them."""

DATASETS = [
    "ASKFROM <http://e.org/g> { ?s ?p ?o }",
    "PREFIX FROM: <http://e.org/> PREFIX : <http://e.org/> ASK FROM:g { ?s ?p ?o }",
    "PREFIX : <http://e.org/> SELECT ?s FROMNAMED:g { ?s ?p ?o }",
    "SELECT * FROMNAMED <http://e.org/g> { ?s ?p ?o }",
    "BASE <http://e.org/> SELECT * FROM <g> { ?s ?p ?o }",
]
"""FROM where a tokeniser of the specification sees none, and after BASE."""

_EX = "PREFIX ex: <http://e.org/> "
LEGITIMATE = [
    "SELECT * WHERE { ?s ?p ?o }",
    "select distinct ?s where { ?s a ?class } limit 10",
    "SELECT REDUCED ?s { ?s ?p ?o } ORDER BY DESC(?s) OFFSET 2 LIMIT 3",
    "ASK { ?s ?p ?o }",
    "CONSTRUCT { ?o ?p ?s } WHERE { ?s ?p ?o }",
    "DESCRIBE <http://e.org/a>",
    _EX + "DESCRIBE ex:a ex:b",
    "SELECT * { ?s ?p 'SERVICE <http://e.org/> { ?s ?p ?o }' }",
    'SELECT * { ?s ?p "DROP ALL" ; ?q """INSERT DATA { } "quoted" """ }',
    "SELECT * { ?s ?p '''LOAD 'it' ''' }",
    "PREFIX SERVICE: <http://e.org/> SELECT * { ?s SERVICE:p ?o }",
    "PREFIX service: <http://e.org/> SELECT * { service:a service:p service:b . }",
    "PREFIX from: <http://e.org/> ASK { from:a from:p ?o }",
    _EX + "SELECT * { ?s ex:service ?o ; ex:serviceType ?t ; ex:FROM ?f }",
    _EX + "SELECT * { ?s ex:v1.2 ?o . ?o ex:load.insert ?x }",
    "# SERVICE <http://e.org/> {\nSELECT * { ?s ?p ?o } # DROP ALL",
    "SELECT ?from ?service ?load { ?from ?service ?load }",
    "SELECT $insert { $insert ?drop ?named }",
    "SELECT * { ?s ?p <http://e.org/SERVICE#FROM> }",
    "SELECT * { ?s ?p 'x'@en , 'y'@de-AT , 'z'^^<http://e.org/FROM> }",
    "SELECT * { _:service ?p _:from }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } }",
    "PREFIX SERVICE: <http://e.org/> SELECT * { GRAPH SERVICE:g { ?s ?p ?o } }",
    "SELECT * { ?s ?p ?o FILTER(?o < 3 && ?o > -1 || !bound(?s)) }",
    "SELECT * { ?s ?p ?o FILTER(?o<3&&?o>1) }",
    "SELECT * { ?s ?p ?o FILTER(?s = <http://e.org/#a> || ?s = <urn:a:b#c>) }",
    "SELECT * { ?s ?p ?o FILTER(?s IN (<http://e.org/#a>, <urn:a:b>, 'x')) }",
    "SELECT * { VALUES (?s ?p) { (<urn:a> <urn:b#c>) (UNDEF <http://e.org/it's>) } ?s ?p ?o }",
    "SELECT * { VALUES ?s { <http://e.org/a> <http://e.org/b> } ?s ?p ?o }",
    "SELECT * { ?s ?p (1 'two' <http://e.org/three#3> <urn:four>) }",
    "SELECT * { [] ?p [ ?q 1 ; ?r [ ] ] }",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) (GROUP_CONCAT(?o; SEPARATOR=', ') AS ?all) { ?s ?p ?o } GROUP BY ?p HAVING (COUNT(*) > 1)",  # noqa: E501
    "SELECT * { { ?s ?p ?o } UNION { ?o ?p ?s } UNION { } }",
    "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?z } MINUS { ?s ?q 3 } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?o ?q ?s } FILTER EXISTS { ?s ?p ?o } }",
    "SELECT * { ?s ?p ?o BIND(STR(?o) AS ?text) FILTER(STRLEN(?text) * 2 + 1 > 3) }",
    "SELECT * { { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s ORDER BY ?n LIMIT 3 } ?s ?q ?z }",
    "SELECT * { ?s rdfs:label ?l FILTER(LANG(?l) = 'en' && LANGMATCHES(LANG(?l), '*')) }",
    "SELECT * { ?s ?p ?o FILTER REGEX(?o, '^(ab|c)+d{2,3}[(]$', 'i') }",
    "SELECT * { ?s ?p ?o FILTER REGEX(?o, '((', 'q') }",
    "SELECT (REPLACE(?o, '(a)', '$1(') AS ?r) { ?s ?p ?o }",
    "SELECT * { ?s (a|rdfs:subClassOf)/^rdfs:label ?o }",
    "SELECT * { ?s a/rdfs:subClassOf* ?class }",
    "SELECT * { <http://e.org/a> (<http://e.org/p>|!<http://e.org/p>)* ?o }",
    "SELECT * { ?s rdfs:subClassOf? ?o ; !(rdf:type|^rdf:type) ?x }",
    "SELECT * { ?s ?p ?o FILTER((?o) * 2 > 3 && 2 * 3 = 6 && ABS(?o) + 1 > 0) }",
    "SELECT * { ?s ?p 1, 1.5, .5, 1e3, 1.e3, -2, +3, true, false }",
    "SELECT * { ?s ?p 1.OPTIONAL{?s ?q 2.} }",
    "BASE <http://e.org/> SELECT * { <a> <#p> <../x> }",
    "PREFIX : <http://e.org/> PREFIX é: <http://e.org/é/> SELECT ?naïve { :a é:ü ?naïve . ?naïve :%41\\-b\\' 'ß' }",
    "SELECT * { ?s ?p 'caf\\u00e9', 'a\\u0022b', \"c\\u0022d\", 'tab\\t\\\\u0041' . <http://e.org/\\u00e9> ?q ?o }",
    "SELECT (IF(BOUND(?x), ?x, 'none') AS ?y) (COALESCE(?x, 1/0, 2) AS ?z) { OPTIONAL { ?s ?p ?x } }",
    "SELECT (STRDT('1', xsd:integer) AS ?i) (IRI('http://e.org/x') AS ?u) (BNODE() AS ?b) (NOW() AS ?t) {}",
    "SELECT * { <<( ?s ?p ?o )>> ?q ?z }",
    "SELECT * { ?s ?p ?o {| ?q ?z |} }",
    "SELECT ?x { LATERAL { SELECT ?x { ?x ?p ?o } LIMIT 1 } }",
    "\ufeffSELECT * { ?s ?p ?o }",
    "SELECT(?s AS ?t){?s ?p ?o}ORDER BY(?s)LIMIT 1",
    "SELECT * { ?s <http://e.org/Foo_(bar)> ?o FILTER(?o != <http://e.org/Foo_(it's)#x>) }",
    "SELECT * { ?s wdt:P31/wdt:P279* wd:Q5 ; rdfs:label ?label FILTER(LANG(?label) = 'en') } LIMIT 5",
]
"""Queries that a check must let through, and that the engine can run."""
