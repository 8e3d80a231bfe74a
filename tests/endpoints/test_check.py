"""``kgsparql check`` over endpoints: what they hold is looked up there; one that is down says nothing of triples."""

from pathlib import Path

import pyoxigraph

from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.endpoints.ports import free_port
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import NOBEL


def test_an_answer_of_a_file_is_checked_at_the_endpoint(run: Run, tmp_path: Path, nobel_url: str) -> None:
    file = tmp_path / "a.trig"
    question = "How many children did Marie Curie have?"
    run("ask", question, "-k", NOBEL, "-q", "--no-model", "--embedder", "none", "-o", file)
    done = run("check", file, "-k", nobel_url)
    assert done.exit_code == 0, done.output
    (tmp_path / "less.ttl").write_text(NOBEL.read_text().replace("dbr:Irène_Joliot-Curie, dbr:Ève", "dbr:Ève"))
    with oxigraph_serve(store_of(tmp_path / "less.ttl", tmp_path / "store")) as url:
        done = run("check", file, "-k", url)
    assert done.exit_code == 3, done.output
    assert "gone    dbr:Marie_Curie dbo:" in done.stdout
    done = run("check", file, "-k", f"http://127.0.0.1:{free_port()}/query")
    assert done.exit_code == 5
    assert "gone" not in done.output, "one that is down says nothing of triples"


def test_an_answer_over_two_graphs_is_checked_on_both(run: Run, tmp_path: Path, nobel_url: str) -> None:
    extra = tmp_path / "extra.ttl"
    extra.write_text(
        "@prefix dbr: <http://dbpedia.org/resource/> . @prefix : <http://e.org/> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'dbr:Warsaw :river :Vistula . :Vistula rdfs:label "Vistula" . :river rdfs:label "river" .'
    )
    file = tmp_path / "a.trig"
    both = ["-k", nobel_url, "-k", extra]
    asked = ("ask", "On which river is the place of birth of Marie Curie?", "--no-model", "--embedder", "none", "-q")
    run(*asked, *both, "-o", file)
    cited = [
        q.triple
        for q in pyoxigraph.parse(file.read_bytes(), pyoxigraph.RdfFormat.TRIG)
        if str(q.graph_name).endswith("#evidence>")
    ]
    assert any("Vistula" in str(triple) for triple in cited)
    done = run("check", file, *both)
    assert done.exit_code == 0, done.output
    extra.write_text("<http://e.org/a> <http://e.org/b> 1 .")
    done = run("check", file, *both)
    assert done.exit_code == 3
    assert "gone    dbr:Warsaw <http://e.org/river> <http://e.org/Vistula>" in done.stdout
    assert done.stdout.count("gone    ") == 1
