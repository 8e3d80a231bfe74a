"""What an engine writes in its own way is shown as the file has it; what a JSON-LD reader leaves out is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kgsparql
from kgsparql.graphs.stores import load_store
from kgsparql.rdf.terms import Literal

LAMPS = """
@prefix e: <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
e:Lamp a rdfs:Class ; rdfs:label "lamp" . e:code rdfs:label "article code" . e:release rdfs:label "release" .
e:span rdfs:label "warranty" . e:price rdfs:label "price" . e:watts rdfs:label "power" .
e:a a e:Lamp ; rdfs:label "Orro" ; e:code "00712"^^xsd:integer ; e:release 1.10 ; e:span "PT36H"^^xsd:duration ;
  e:price 12.50 ; e:watts 1.5E3 .
e:b a e:Lamp ; rdfs:label "Vetch" ; e:code "815"^^xsd:integer ; e:price 12.5 .
"""


@pytest.mark.parametrize("is_stored", [False, True])
def test_values_are_shown_as_the_file_writes_them_and_compared_as_what_they_are(
    tmp_path: Path, is_stored: bool
) -> None:
    source = tmp_path / "lamps.ttl"
    source.write_text(LAMPS, encoding="utf-8")
    if is_stored:
        load_store(source, tmp_path / "store")
        source = tmp_path / "store"
    with kgsparql.open(source, embedder="none") as lamps:
        for question, shown in {
            "What is the article code of Orro?": "00712",
            "What is the release of Orro?": "1.10",
            "What is the warranty of Orro?": "PT36H",
            "What is the power of Orro?": "1500",
            "What is the price of Vetch?": "12.5 (12.5, 12.50)",  # two spellings of one value: both are said
        }.items():
            answer = lamps.ask(question)
            assert kgsparql.render(answer).splitlines()[0] == f"{shown}  [P1]"
            assert f"→ {shown.partition(' ')[0]}" in next(iter(answer.evidence)).text
        assert lamps.ask("What is the article code of Orro?").answers[0].term == Literal(712)
        assert lamps.ask("Which lamp has the article code 712?").answers[0].label == "Orro"
        assert lamps.ask("How many lamps have a price of 12.50?").value.value == "2"


def test_what_a_reader_of_json_ld_leaves_out_is_told_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "staff.jsonld"
    context = {
        "name": "http://www.w3.org/2000/01/rdf-schema#label",
        "ex": "http://e.org/",
        "chief": {"@id": "ex:chief", "@type": "@id"},
    }
    ann = {"@id": "ex:ann", "name": "Ann Ode", "age": 41, "chief": "bob", "foaf:mbox": "ann@e.org"}
    file.write_text(json.dumps({"@context": context, "@graph": [ann]}))
    told = (
        "keys without a meaning in @context, left out: 'age'; relative IRIs, left out without --base: 'bob'; "
        "prefixes that are not declared: 'foaf'"
    )
    assert kgsparql.open(file, embedder="none").graph.notes == (f"{file}: {told}",)
    load_store(file, tmp_path / "store")
    assert kgsparql.open(tmp_path / "store", embedder="none").graph.notes == (f"{file}: {told}",)
    file.write_text(
        json.dumps({"@context": {**context, "@vocab": "http://e.org/", "foaf": "http://f.org/"}, "@graph": [ann]})
    )
    assert kgsparql.open(file, base="http://e.org/", embedder="none").graph.notes == ()
