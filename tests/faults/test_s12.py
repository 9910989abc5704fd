"""S12: nothing that is written into a pom or a settings file becomes more than a value there."""

import json
from xml.etree import ElementTree as ET

from fix_catalogues import hostile_texts
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from relock import pom
from sidecypher.errors import SettingsError
from sidecypher.host.settings import Settings, load_settings

POM = "{http://maven.apache.org/POM/4.0.0}"

in_each_test = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

markup = st.sampled_from(
    ("<", ">", "&", "]]>", "<![CDATA[", "<!--", "-->", "&lt;", "&#60;", "&xxe;", "</version>",
     "</project>", "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>", "${project.basedir}")
)  # fmt: skip
xml_texts = st.text(
    # What XML has no way to write is refused by its parser; ends of lines it makes the same.
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\ufffe\uffff:"),
    max_size=5,
)
words = st.lists(markup.filter(lambda text: ":" not in text) | xml_texts, max_size=4).map("".join)


@given(st.lists(st.tuples(words, words, words), max_size=5))
def test_a_pom_has_the_dependencies_it_was_asked_for(artifacts):
    """An XML parser reads back exactly the coordinates that were written, and nothing else."""
    tree = ET.fromstring(pom([":".join(artifact) for artifact in artifacts]))

    found = [
        tuple(part.text or "" for part in dependency)
        for dependency in tree.iter(f"{POM}dependency")
    ]
    assert found == artifacts
    assert [child.tag.removeprefix(POM) for child in tree] == [
        *("modelVersion", "groupId", "artifactId", "version", "dependencies")
    ]


def toml_string(text):
    """Write a text as TOML does, whose strings are those of JSON but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def read(file):
    """Return the settings of a file, or why they are refused."""
    try:
        return load_settings({}, {}, file), None
    except SettingsError as error:
        return None, error


SECRET = "hunter2-payload"
DEFAULTS = load_settings({}, {})

toml_marks = st.sampled_from(('"', '"""', "'''", "\n", "\nport = 1\n", "]", "[x]", "# ", "\\", "="))
toml_texts = st.lists(toml_marks | hostile_texts, max_size=4).map("".join)


@in_each_test
@given(text=toml_texts)
def test_a_value_of_a_settings_file_is_that_value(tmp_path, text):
    """Whatever a text holds, it is the value of its own setting, or refused; no other changes."""
    file = tmp_path / "sidecypher.toml"
    file.write_text(f"neo4j_user = {toml_string(text)}\n", encoding="utf-8")

    found, refusal = read(file)

    if refusal is not None:
        assert "`neo4j_user`" in refusal.message
    else:
        assert found.neo4j_user == text
        assert found.model_copy(update={"neo4j_user": DEFAULTS.neo4j_user}) == DEFAULTS


@in_each_test
@example(f"neo4j_password = {SECRET}")
@example(f'port = "{SECRET}"')
@example(f'[home]\nhome = "{SECRET}"')
@example("a = " + "[" * 10_000)
@given(text=st.lists(st.sampled_from(sorted(Settings.model_fields)) | toml_texts).map("".join))
def test_a_broken_settings_file_is_a_named_error(tmp_path, text):
    """What is not TOML, or names no setting, is refused by name; its values are not told."""
    file = tmp_path / "sidecypher.toml"
    file.write_text(text, encoding="utf-8", newline="")

    _, refusal = read(file)

    assert refusal is None or SECRET not in f"{refusal.message} {refusal.hint}"
