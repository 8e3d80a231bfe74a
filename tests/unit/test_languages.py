"""Questions in other languages, in words of a user's own, and after another question."""

import ast
import inspect
import re
import tomllib
from functools import cache
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql.answering import pipeline, retriever
from kgsparql.answering.confidence import SIGNALS
from kgsparql.cli import app
from kgsparql.reading.gaps import rival
from kgsparql.reading.lexicon import glossary, languages
from kgsparql.reading.parser import grammar
from kgsparql.reading.translation import language_in, translated
from tests.scripted import knowledge_of
from tests.world import FIXTURES, PREFIXES, graph_of

LEXICON = Path(kgsparql.__file__).parent / "reading" / "lexicon"


def in_english(question: str, language: str = "") -> str:
    tag = language or language_in(question, None)
    return question if tag == "en" else translated(question, tag).text


@pytest.mark.parametrize("order", ["de", "romance"])
def test_each_example_of_a_grammar_is_put_in_the_order_of_english(order: str) -> None:
    examples = grammar(order).examples
    assert len(examples) > 20
    for question, english in examples:
        assert in_english(question, "de" if order == "de" else "") == english


@pytest.mark.parametrize("question", ["Who directed La La Land?", "Was Ada fired?", "Berlin?", "居里夫人"])
def test_what_may_be_english_or_unknown_stays_as_it_is(question: str) -> None:
    assert in_english(question) == question


def test_a_word_that_the_graph_has_in_english_is_not_taken_for_another_language() -> None:
    """`mayor` is Spanish for larger: the current mayor was a sure number, the largest one."""
    towns = knowledge_of(
        """:mayor rdfs:label "mayor" . :population rdfs:label "population" .
        :b rdfs:label "Belmire" ; :mayor :ann ; :population 8000 . :ann rdfs:label "Ann Dell" ."""
    )
    for question in ("mayor Belmire", "current mayor Belmire", "mayor of Belmire"):
        answer = towns.ask(question)
        assert [one.label for one in answer.best] == ["Ann Dell"], question
    spanish = towns.ask("¿Quién es el mayor de Belmire?")
    assert not spanish.text.startswith("8000")


def test_each_word_keeps_its_place_in_the_question() -> None:
    read = translated("Welche Romane hat Toni Morrison geschrieben?", "de")
    assert [read.original_words(words) for words in ("novels", "Toni Morrison", "write")] == [
        "Romane", "Toni Morrison", "geschrieben",
    ]  # fmt: skip


@pytest.mark.parametrize("language", languages())
def test_any_words_in_any_order_are_read(language: str) -> None:
    chance, tables = Random(1), [[*table] for table in glossary(language).meanings.values()]  # noqa: S311
    for length in range(300):
        drawn = (chance.choice(chance.choice([*tables, ["Bonn", "12", ",", "?", "-"]])) for _ in range(length % 12))
        assert translated(" ".join(drawn), language).language == language


def test_every_language_has_what_its_file_needs() -> None:
    assert [glossary(tag).language for tag in languages()] == list(languages())
    known = {tag: tomllib.loads(LEXICON.joinpath(f"{tag}.toml").read_text(encoding="utf-8")) for tag in languages()}
    tables = ("words", "pairs", "endings", "meanings")
    keys = {tag: {(table, key) for table in tables for key in known[tag][table]} for tag in languages()}
    assert keys["es"] == keys["fr"]
    assert {name for _, name in keys["de"] - keys["fr"]} == {"accusatives", "become", "meanwhile", "subordinators"}


def constants_of(tree: ast.Module) -> dict[str, str]:
    """The texts that names in capitals stand for."""
    own = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant))
    named = {ast.unparse(node.targets[0]): node.value.value for node in own if isinstance(node.value, ast.Constant)}
    return {name: text for name, text in named.items() if isinstance(text, str) and name.isupper()}


@cache
def sentences_of_doubts() -> set[str]:
    """Every sentence that the package makes a doubt of, and what answers say."""
    folder = Path(kgsparql.__file__).parent
    files = [*sorted(folder.rglob("*.py"))]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    everywhere = {name: text for tree in trees for name, text in constants_of(tree).items()}
    found = {*SIGNALS.values(), *pipeline._NOTHING.values(), retriever.RANKED, "yes", "no", "nothing"}
    found |= {*map(str, (inspect.signature(rival).parameters[name].default for name in ("one", "other")))}
    places = {"Gap": 2, "not_all": 0, "not_the_graphs": 0, "self._told_sentence": 0, "answer.say": 0, "session.say": 0}
    for file, tree in zip(files, trees, strict=True):
        places |= {"say": 0 if file.parent.name in {"answering", "rendering"} else 9}
        constants = everywhere | constants_of(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            place = places.get(ast.unparse(call.func))
            if place is not None and len(call.args) > place:
                argument = call.args[place]
                text = argument.value if isinstance(argument, ast.Constant) else constants.get(ast.unparse(argument))
                found |= {text} if isinstance(text, str) else set()
    return found


@pytest.mark.parametrize("language", languages())
def test_every_sentence_is_there_in_every_language(language: str) -> None:
    said, own = sentences_of_doubts(), glossary(language).sentences
    assert len(said) > 40
    assert said - own.keys() == set()
    for sentence, other in own.items():
        assert re.findall(r"\{[^}]*\}", sentence) == re.findall(r"\{[^}]*\}", other), other


def test_words_of_a_question_are_those_that_were_asked(nobel: kgsparql.KnowledgeBase) -> None:
    born, unknown = (nobel.ask(q) for q in ("Wer wurde in Dänemark geboren?", "Welche Briefmarken hat Niels Bohr?"))
    assert (born.question, [link.mention.text for link in born.linked]) == (
        "Wer wurde in Dänemark geboren?", ["Dänemark"],
    )  # fmt: skip
    assert unknown.gaps[0].words == "Briefmarken"


ENGLISH = re.compile(r"\b(Evidence|Notes|Linked|Answers|more|likely|asks|checked|triples?|queries|calls|item|found)\b")


@pytest.mark.parametrize(("question", "around"), [
    ("Wo wurde Marie Curie geboren?", "zu 97 % wahrscheinlich richtig"),
    ("Wo wurde Bragg geboren?", "--reading 1 fragt nach der ersten davon"),
    ("Quels timbres a Niels Bohr ?", "incertain · 1 citation vérifiée(s)"), ("Où est née Marie Curie ?", "Preuves"),
    ("¿Dónde nació Marie Curie?", "hallada(s) de nuevo"),
    ("¿Qué sellos tiene Niels Bohr?", "(-v muestra lo que se encontró, que no es probable)"),
])  # fmt: skip
def test_what_stands_around_an_answer_is_in_the_language_of_the_question(
    nobel: kgsparql.KnowledgeBase, question: str, around: str
) -> None:
    shown = kgsparql.render(nobel.ask(question), "text")
    assert (around in shown, ENGLISH.findall(shown)) == (True, [])


def test_a_table_has_heads_in_the_language_of_the_question(nobel: kgsparql.KnowledgeBase) -> None:
    shown = kgsparql.render(nobel.ask("Liste alle Länder mit ihren Hauptstädten auf"), "text").splitlines()
    assert (shown[0].split(), "+18 weitere: -f csv" in shown[11]) == (["Eintrag", "Hauptstadt"], True)


def test_descriptions_are_in_the_language_of_the_reader() -> None:
    turtle = ':P a rdfs:Class ; rdfs:label "power tool" ; rdfs:comment "A tool."@en , "Ein Werkzeug."@de .'
    german = kgsparql.KnowledgeBase(graph_of(turtle), embedder="none", languages=("de",))
    assert german.ask("What is a power tool?").answers[0].label == "Ein Werkzeug."


BORN_IN = {"de": "Wo wurde Marie Curie geboren?", "fr": "Où est née Marie Curie ?", "es": "¿Dónde nació Marie Curie?"}


@pytest.mark.parametrize(("language", "question", "note"), [
    ("de", "Und wo ist sie gestorben?", "'sie' wurde für Marie Curie gehalten"),
    ("de", "und Pierre Curie?", "noch einmal gefragt, mit 'Pierre Curie' statt 'Marie Curie'"),
    ("fr", "Où est-elle morte ?", "'elle' a été pris pour Marie Curie"),
    ("es", "¿y dónde murió?", "preguntado sobre Marie Curie"),
])  # fmt: skip
def test_what_was_filled_in_is_said_in_the_language_of_the_question(
    nobel: kgsparql.KnowledgeBase, language: str, question: str, note: str
) -> None:
    answer = nobel.ask(question, after=nobel.ask(BORN_IN[language]))
    assert [str(one) for one in answer.notes if one.code == "follow_up"] == [note]
    alone = nobel.ask(answer.question)
    assert [own.term for own in alone.best] == [own.term for own in answer.best], "it stands for itself"


@pytest.mark.parametrize(("before", "question", "asked"), [
    ("Who is the spouse of Marie Curie?", "and his date of birth?", "What is Pierre Curie's date of birth?"),
    ("Which laureates were born in Paris?", "Where did the first one study?", "Where did Esther Duflo study?"),
    ("Where was Marie Curie born?", "When was the second one born?", ""),
    ("poets born in Rome", "which of them have a child?", ""),
    ("What is Marie Curie's birthplace?", "what about Niels Bohr?", "What is Niels Bohr's birthplace?"),
    ("When did Marie Curie's husband die?", "what about her children?", "Marie Curie's children?"),
    ("Who taught at the University of Paris?", "what about the ETH?", "Who taught at the ETH?"),
    ("How many of Niels Bohr, Max Born and Pierre Curie have a child?", "what about Paris?", "what about Paris?"),
])  # fmt: skip
def test_what_is_left_out_is_taken_from_what_is_named_or_asked_for(
    nobel: kgsparql.KnowledgeBase, before: str, question: str, asked: str
) -> None:
    answer = nobel.ask(question, after=nobel.ask(before))
    assert answer.question == asked or (not asked and "say its name" in " ".join(map(str, answer.notes)))


def test_the_last_one_is_asked_back_where_nothing_was_asked_before(nobel: kgsparql.KnowledgeBase) -> None:
    assert "nothing before is 'the last one': say its name" in nobel.ask("Where did the last one study?").notes


def test_what_follows_a_question_about_nobody_is_answered(nobel: kgsparql.KnowledgeBase) -> None:
    before = nobel.ask("Which women won the Nobel Prize in Physics?")
    of_them = nobel.ask("which of them were born in Poland?", after=before)
    assert "nothing before is 'them': say its name" in of_them.notes
    found = nobel.ask("and where was Max Born born?", after=of_them)
    assert (found.sure, [one.label for one in found.best]) == (True, ["Wrocław"])


BORN_IN_PARIS = {
    "en": "Which laureates were born in Paris?", "de": "Welche Preisträger wurden in Paris geboren?",
    "fr": "Quels lauréats sont nés à Paris ?", "es": "¿Qué laureados nacieron en París?",
}  # fmt: skip
CHEMISTS = ["Frédéric Joliot-Curie", "Irène Joliot-Curie"]
OF_THOSE = [
    ("en", "which of them won the Nobel Prize in Chemistry?", CHEMISTS), ("de", "Wie viele davon haben Kinder?", ["3"]),
    ("fr", "Qui est le plus âgé ?", ["Henri Becquerel"]), ("es", "¿Tienen hijos?", ["true"]),
]  # fmt: skip


@pytest.mark.parametrize(("language", "question", "found"), OF_THOSE)
def test_what_is_asked_of_a_list_is_answered_of_it_alone(
    nobel: kgsparql.KnowledgeBase, language: str, question: str, found: list[str]
) -> None:
    answer = nobel.ask(question, after=nobel.ask(BORN_IN_PARIS[language]))
    assert (answer.sure, sorted(one.label for one in answer.best), bool(answer.cited)) == (True, found, True)
    assert any("Esther Duflo; Frédéric Joliot-Curie" in str(one) for one in answer.notes if one.code == "follow_up")


@pytest.mark.parametrize(("language", "when", "whose"), [
    ("en", "when were they born?", "and their children?"), ("de", "Wann wurden sie geboren?", "und ihre Kinder?"),
    ("fr", "Quand sont-ils nés ?", "et leurs enfants ?"), ("es", "¿Cuándo nacieron?", "¿y sus hijos?"),
])  # fmt: skip
def test_a_value_of_each_of_a_list_is_a_table_of_them_also_further_on(
    nobel: kgsparql.KnowledgeBase, language: str, when: str, whose: str
) -> None:
    born = nobel.ask(when, after=nobel.ask(BORN_IN_PARIS[language]))
    children = nobel.ask(whose, after=born)
    their_birth = nobel.ask(when, after=children)
    assert [born.sure, children.sure, their_birth.sure] == [True] * 3
    assert ("Henri_Becquerel", "1852-12-15") in [(one.rpartition("/")[2], str(day)) for one, day in born.values]
    assert len(born.values) == 5 < len(children.values), "each has a row, also who has none"
    assert sorted(str(day) for _, day in their_birth.values if day is not None) == ["1897-09-12", "1904-12-06"]


def test_they_after_nothing_that_was_found_is_asked_back(nobel: kgsparql.KnowledgeBase) -> None:
    answer = nobel.ask("which of them won the Nobel Prize in Chemistry?", after=nobel.ask("Which stamps have a rim?"))
    assert (answer.sure, "say its name" in " ".join(map(str, answer.notes))) == (False, True)
    whole = "Which countries have their capital in Berlin?"
    assert nobel.ask(whole, after=nobel.ask("Which countries are there?")).best[0].label == "Germany"


def test_a_question_that_leaves_nothing_out_follows_none(nobel: kgsparql.KnowledgeBase) -> None:
    before = nobel.ask("When was Marie Curie born?")
    plain = nobel.ask("Where was Pierre Curie born?", after=before)
    assert plain.question == "Where was Pierre Curie born?"
    assert not any(note.code == "follow_up" for note in plain.notes)


def test_a_pronoun_of_what_the_question_names_and_one_of_nothing_are_left(nobel: kgsparql.KnowledgeBase) -> None:
    before = nobel.ask("Where was Irène Joliot-Curie born?")
    for question in (
        "Which prize did Marie Curie share with her husband?", "Is it true that Marie Curie was born in Warsaw?",
        "Who was born in Warsaw and worked there?", "Wie viele Preise gibt es?", "Combien de prix y a-t-il ?",
    ):  # fmt: skip
        assert nobel.ask(question, after=before).question == question


def test_on_the_command_line() -> None:
    lines = "Where was Marie Curie born?\nand where did she die?\n"
    lines += "Who are the children of Marie Curie?\nand who is the oldest?\nwhen did they die?\n"
    shown = "Warsaw\nPassy\nIrène Joliot-Curie\tÈve Curie\nIrène Joliot-Curie\n"
    shown += "Irène Joliot-Curie | 1956-03-17\tÈve Curie | 2007-10-22\n"
    asked = ["ask", "-i", "-k", str(FIXTURES / "nobel.ttl"), "--embedder", "none", "--no-model", "-f", "plain"]
    done = CliRunner().invoke(app, asked, input=lines)
    assert (done.exit_code, done.stdout) == (0, shown), done.stderr
    refused = CliRunner().invoke(app, [*asked, "Where was Marie Curie born?"], input=lines)
    assert (refused.exit_code, "leave one out" in refused.stderr) == (2, True)


WORKS = """
:ann a :Engineer ; rdfs:label "Ann Hill" ; :employer :acme ; :salary 40 . :bob a :Engineer ; rdfs:label "Bob Lee" ;
  :employer :acme, :orion . :acme a :Firm ; rdfs:label "Acme" . :orion a :Firm ; rdfs:label "Orion" .
:tinkerer rdfs:label "Tinkerer" ; :age 3 .
:employer rdfs:label "employer"@en, "Arbeitgeber"@de . :Engineer rdfs:label "engineer" . :Firm rdfs:label "firm" .
"""


def test_another_name_that_a_second_file_states_is_read_as_any_name(tmp_path: Path) -> None:
    label = "http://www.w3.org/2004/02/skos/core#altLabel"
    names = {"gaffer": "employer", "the Doc": "ann", "techie": "Engineer"}
    (tmp_path / "works.ttl").write_text(PREFIXES + WORKS)
    lines = [f'<http://example.org/{means}> <{label}> "{name}"@en .' for name, means in names.items()]
    (tmp_path / "names.nt").write_text("\n".join(lines))
    works = kgsparql.open(tmp_path / "works.ttl", tmp_path / "names.nt", embedder="none")
    for question, answers in (
        ("Who is the gaffer of Ann Hill?", ["Acme"]),
        ("Where does the doc work?", ["Acme"]),
        ("How many techies are there?", ["2"]),
    ):
        answer = works.ask(question)
        assert (answer.status, [one.label for one in answer.best]) == ("answered", answers), question
