"""Rows L on what is in a graph: named graphs, values, labels in every script, loops; and paths that are no files."""

from __future__ import annotations

import os
import subprocess

from benchmarks.hostile.load import LABEL, TRIPLE, XSD
from benchmarks.hostile.processes import check
from benchmarks.hostile.rows import EX, CannotRun, Place, notes, row


@row("L31", "facts in named graphs only", "found by queries and questions; the citation has the graph's IRI")
def named_graphs(at: Place) -> None:
    data = f"""@prefix : <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
GRAPH :g {{ :Curie rdfs:label "Marie Curie" ; :bornIn :Warsaw . :Warsaw rdfs:label "Warsaw" .
:bornIn rdfs:label "born in" . }}"""
    file = at.write("named.trig", data)
    check(at.count(file) == 4, "a query does not see them")
    answer = at.ask("Where was Marie Curie born?", file)
    check(answer["answers"][0]["term"]["label"] == "Warsaw", f"{answer['answers'][:1]}")
    check(f"{EX}g" in str(answer["evidence"]), "the graph is not cited")


@row("L32", "one triple in two graphs", "one fact with two sources; counts are not doubled")
def one_fact_twice(at: Place) -> None:
    label = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    fact = f'<{EX}Curie> rdfs:label "Marie Curie" ; <{EX}child> <{EX}Irene> . <{EX}Irene> rdfs:label "Irene" .'
    fact += f' <{EX}child> rdfs:label "child" .'
    file = at.write("two.trig", f"{label}\n GRAPH <{EX}g> {{ {fact} }} GRAPH <{EX}h> {{ {fact} }}")
    answer = at.ask("How many children does Marie Curie have?", file, exit={0, 3})
    check(answer["value"] and answer["value"]["value"] == "1", answer["text"][:200])
    done = at.fine("show", f"{EX}Curie", "-k", file)
    check(done.stdout.count("Irene") == 1, f"shown twice: {done.stdout!r}")
    evidence = str(at.ask("Who is the child of Marie Curie?", file)["evidence"])
    check(f"{EX}g" in evidence and f"{EX}h" in evidence, "not both sources")


@row("L33", "01, +1, 1.0, 1E400, 1 as boolean", "canonical values are shown, and their citations check")
def canonical(at: Place) -> None:
    values = {"01": "integer", "+1": "integer", "1.0": "decimal", "1E400": "double", "1": "boolean"}
    lines = [f'<{EX}a> {LABEL} "Thing" .'] + [f'<{EX}a> <{EX}p> "{v}"^^<{XSD}{t}> .' for v, t in values.items()]
    file = at.write("values.nt", "\n".join(lines))
    found = at.values("SELECT (STR(?o) AS ?v) { ?s <http://e.org/p> ?o }", file)
    check(found == ["1", "1", "INF", "true"], f"{found}")
    answer = at.ask("What is the p of Thing?", file, exit={0, 3})
    triples = [t for item in answer["evidence"] for t in item["triples"]]
    check(triples and all(t["verified"] for t in triples), "a citation does not check")


@row("L34", "2020-02-31, -0044-03-15, year 0000, year 99999999999", "kept as they are; shown; no overflow")
def dates(at: Place) -> None:
    all_ = ["-0044-03-15", "0000-01-01", "2020-02-31", "99999999999-01-01"]
    lines = [f'<{EX}{n}> {LABEL} "Thing {n}" .\n<{EX}{n}> <{EX}date> "{d}"^^<{XSD}date> .' for n, d in enumerate(all_)]
    file = at.write("dates.nt", "\n".join(lines))
    found = at.values("SELECT (STR(?o) AS ?v) { ?s <http://e.org/date> ?o } ORDER BY ?o", file)
    check(found == all_, f"{found}")
    for n, date in enumerate(all_):
        check(date in at.fine("show", f"Thing {n}", "-k", file).stdout, f"{date} is not shown")
    at.ask("Which thing has the latest date?", file, exit={0, 3})


@row("L35", "an integer of 23 digits, a decimal of 25", "kept or shown without a silent change")
def long_numbers(at: Place) -> None:
    numbers = {"12345678901234567890123": "integer", "0.1234567890123456789012345": "decimal"}
    lines = [f'<{EX}a> <{EX}p> "{n}"^^<{XSD}{t}> .' for n, t in numbers.items()]
    file = at.write("numbers.nt", f'<{EX}a> {LABEL} "Thing" .\n' + "\n".join(lines))
    found = at.values("SELECT (STR(?o) AS ?v) { ?s <http://e.org/p> ?o }", file)
    check(set(found) == set(numbers), f"{found}")
    shown = at.fine("show", "Thing", "-k", file).stdout
    check(all(n in shown for n in numbers), shown)


CAFE = f'<{EX}c> {LABEL} "caf\u00e9 de flore" .\n<{EX}c> <{EX}city> <{EX}Paris> .\n<{EX}Paris> {LABEL} "Paris" .\n'


@row("L36", "a label in NFC and in NFD, asked in the other", "both spellings find it; IRIs are never normalised")
def normal_forms(at: Place) -> None:
    for name, label, asked in (("nfc", "café", "cafe\u0301"), ("nfd", "cafe\u0301", "café")):
        iri = f"{EX}cafe\u0301"
        file = at.write(f"{name}.nt", CAFE.replace("café", label).replace(f"{EX}c>", f"{iri}>"))
        answer = at.ask(f"In which city is {asked} de flore?", file, exit={0, 3})
        linked = [link["term"]["value"] for link in answer["linked"]]
        check(linked and linked[0] == iri, f"{name}: {linked!r}")


@row("L37", "IRIs caf%C3%A9 and café", "two things, not merged")
def escaped_iri(at: Place) -> None:
    lines = [f'<{EX}caf%C3%A9> {LABEL} "one" .', f'<{EX}café> {LABEL} "two" .']
    file = at.write("two.nt", "\n".join(lines))
    found = at.values("SELECT (STR(?s) AS ?v) { ?s ?p ?o }", file)
    check(found == [f"{EX}caf%C3%A9", f"{EX}café"], f"{found}")
    check("one" in at.fine("show", f"{EX}caf%C3%A9", "-k", file).stdout, "the escaped one")
    check("two" in at.fine("show", f"{EX}café", "-k", file).stdout, "the other")


@row("L38", "a graph without any label", "names from IRIs, and questions find them")
def no_labels(at: Place) -> None:
    file = at.write("bare.ttl", f"@prefix : <{EX}> . :Marie_Curie :bornIn :Warsaw . :Niels_Bohr :bornIn :Copenhagen .")
    answer = at.ask("Where was Marie Curie born?", file, exit={0, 3})
    check(answer["answers"][0]["term"]["value"] == f"{EX}Warsaw", f"{answer['answers'][:1]}")
    found = at.fine("find", "Niels Bohr", "-k", file)
    check("Niels_Bohr" in found.stdout, found.stdout)


SCRIPTS = {
    "ar": "القاهرة", "zh": "北京市", "hi": "दिल्ली", "th": "กรุงเทพ", "ja": "東京", "he": "ירושלים", "mul": "🦄 inc",
}  # fmt: skip


@row(
    "L39", "labels only in Arabic, Chinese, Hindi, Thai, Japanese, Hebrew, emoji", "questions in that script find them"
)
def scripts(at: Place) -> None:
    lines = [f'<{EX}{tag}> {LABEL} "{label}"@{tag} .\n<{EX}{tag}> <{EX}population> "{n}" .'
             for n, (tag, label) in enumerate(SCRIPTS.items(), 1)]  # fmt: skip
    file = at.write("scripts.nt", "\n".join(lines))
    for tag, label in SCRIPTS.items():
        found = at.fine("find", label, "-k", file)
        check(f"{EX}{tag}" in found.stdout, f"{tag}: find says {found.stdout!r}")
        answer = at.ask(f"population {label}?", file, exit={0, 3}, more=["--lang", tag])
        linked = [link["term"]["value"] for link in answer["linked"]]
        check(f"{EX}{tag}" in linked, f"{tag}: {linked}")


@row("L40", "one thing with labels in five languages", "the asked language, then English, then any; the same each time")
def languages(at: Place) -> None:
    names = {"de": "Warschau", "en": "Warsaw", "fr": "Varsovie", "pl": "Warszawa", "it": "Varsavia"}
    labels = ", ".join(f'"{name}"@{tag}' for tag, name in names.items())
    file = at.write("five.ttl", f'<{EX}w> {LABEL} {labels} . <{EX}c> {LABEL} "Curie" ; <{EX}born> <{EX}w> .')
    for tag, wanted in (("pl", "Warszawa"), ("de,fr", "Warschau"), ("sv", "Warsaw"), ("fr,de", "Varsovie")):
        for _ in range(2):
            shown = at.fine("show", "Curie", "-k", file, "-f", "json", *lang(tag)).stdout
            check(f'"{wanted}"' in shown, f"{tag}: {shown[:300]}")


def lang(tags: str) -> list[str]:
    """The option."""
    return ["--lang", tags]


@row("L41", "1,000 things labelled Springfield", "said to be ambiguous, with IRIs; no silent pick")
def namesakes(at: Place) -> None:
    lines = [f'<{EX}s{n}> {LABEL} "Springfield" .\n<{EX}s{n}> <{EX}in> <{EX}state{n}> .' for n in range(1000)]
    file = at.write("many.nt", "\n".join(lines))
    done = at.run("show", "Springfield", "-k", file)
    check(done.exit == 3 and f"{EX}s" in done.stderr + done.stdout, f"exit {done.exit}: {done.stderr[:300]}")
    answer = at.ask("Where is Springfield?", file, exit=3)
    check("1,000" in notes(answer) + str(answer["not_understood"]) + str(answer["linked"])[:9000]
          or len(answer["linked"][0]["candidates"]) > 1, notes(answer))  # fmt: skip


@row(
    "L42", "labels that are empty, spaces, 5,000 characters, the IRI itself", "left out or cut; nothing empty is found"
)
def useless_labels(at: Place) -> None:
    labels = {"a": "", "b": "   ", "c": "word " * 1000, "d": f"{EX}d", "e": "Bonn"}
    lines = [f'<{EX}{k}> {LABEL} "{v}" .\n<{EX}{k}> <{EX}p> <{EX}e> .' for k, v in labels.items()]
    file = at.write("odd.nt", "\n".join(lines))
    found = at.fine("find", "word", "-k", file, "-f", "json").stdout
    check(len(found) < 20_000, "the long label is not cut")
    shown = at.fine("show", "Bonn", "-k", file).stdout
    check(len(shown) < 3_000 and "a" in shown, f"{len(shown)} characters")
    for empty in ("", "   "):
        at.refused(2, "nothing to search for", "find", empty, "-k", file)


@row(
    "L43", "a predicate that is a subject, loops of rdf:type, self loops, a cycle of owl:sameAs", "ends; no node twice"
)
def loops(at: Place) -> None:
    file = at.write(
        "loops.ttl",
        f"""@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:p a :C ; rdfs:label "Peter" ; :p :p . :C a :C ; rdfs:subClassOf :C , :D . :D rdfs:subClassOf :C .
:a rdfs:label "Anna" ; :p :b ; owl:sameAs :b . :b rdfs:label "Berta" ; owl:sameAs :c ; :p :a , :c .
:c owl:sameAs :a ; rdfs:label "Clara" ; :p :p .""",
    )
    done = at.fine("paths", "Anna", "Peter", "-k", file, "-q")
    for line in done.stdout.splitlines():
        nodes = [part.split("—")[0].split("←")[0].strip() for part in line.replace("→", "\n").splitlines()]
        check(len(nodes) == len(set(nodes)), f"a node twice: {line}")
    for method in ("path_ranking", "mindmap", "think_on_graph"):
        at.ask("How is Anna linked to Peter?", file, exit={0, 3}, more=["-r", method])


@row("L44", "RDF 1.2 triple terms and a literal with a direction", "read, or exit 4; no crash")
def rdf_1_2(at: Place) -> None:
    data = b'<http://e.org/a> <http://e.org/p> <<( <http://e.org/a> <http://e.org/p> "x"@en--ltr )>> .'
    file = at.write("new.ttl", data)
    check(at.count(file) == 1, "not read")
    at.fine("info", "-k", file)
    at.fine("show", f"{EX}a", "-k", file)
    done = at.fine("query", "SELECT * { ?s ?p ?o }", "-k", file, "-f", "json")
    check('"triple"' in done.stdout, done.stdout)


@row("L45", "a FIFO, /dev/zero, a link to nowhere, out of the folder, in a circle, no permission, a missing file",
     "exit 2 that names the path")  # fmt: skip
def not_files(at: Place) -> None:
    os.mkfifo(at.folder / "pipe.nt")
    (at.folder / "empty").mkdir()
    (at.folder / "links").mkdir()
    at.write("outside.nt", TRIPLE)
    (at.folder / "links" / "out.nt").symlink_to(at.folder / "outside.nt")
    (at.folder / "round").mkdir()
    (at.folder / "round" / "round.nt").symlink_to("round.nt")
    (at.folder / "gone.nt").symlink_to("nowhere.nt")
    for source in ("pipe.nt", "/dev/zero", "empty", "links", "round", "gone.nt", "missing.nt"):
        at.refused(2, source, "info", "-k", source, within_s=20)
    at.refused(2, "E_INPUT", "info", "-k", "x" * 5000 + ".nt", within_s=20)
    closed = at.write("closed.nt", TRIPLE)
    closed.chmod(0)
    if os.geteuid() == 0:
        if not can_drop():
            raise CannotRun("nobody else than root to try a file that is not to be read")
        at.folder.chmod(0o755)
        for folder in ("cache", "home", "tmp"):
            (at.folder / folder).mkdir(exist_ok=True)
            (at.folder / folder).chmod(0o777)
        for parent in at.folder.parents:
            if parent.stat().st_mode & 0o001 == 0 and parent.stat().st_uid == os.geteuid():
                parent.chmod(parent.stat().st_mode | 0o011)
        at.refused(2, ["closed.nt", "ermission"], "info", "-k", "closed.nt", prefix=["setpriv", *AS_NOBODY])
    else:
        at.refused(2, ["closed.nt", "ermission"], "info", "-k", closed)


AS_NOBODY = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]


def can_drop() -> bool:
    try:
        return subprocess.run(["setpriv", *AS_NOBODY, "true"], check=False, capture_output=True).returncode == 0  # noqa: S607
    except FileNotFoundError:
        return False
