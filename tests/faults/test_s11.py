"""S11: what an author writes is never read as a template."""

from pathlib import Path

import jinja2
from fix_catalogues import HOSTILE, hostile_texts, with_text
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import nodes

import sidecypher_plugin
from sidecypher.protocol.catalogue import Catalogue
from sidecypher_plugin.generator import render
from sidecypher_plugin.java import string_literal

TEMPLATES = sorted((Path(sidecypher_plugin.__file__).parent / "templates").iterdir())

marks = st.sampled_from(
    ("{{ 7 * 7 }}", "{{ x }}", "{{ ''.__class__.__mro__ }}", "{% for x in y %}", "{% endfor %}",
     "{% include 'namespace.java.j2' %}", "{% raw %}", "{#", "#}", "{{", "}}", "{%-", "-%}",
     "{{ self }}", "{{ stub.name | expression }}", "{{ cycler.__init__.__globals__ }}")
)  # fmt: skip
templates = st.lists(marks | hostile_texts, max_size=4).map("".join)


@example("".join(HOSTILE))
@given(templates)
def test_a_text_is_one_literal_of_the_source(text):
    """Whatever a text holds, the source is that of a plain text, with one literal for the other."""
    # Not an empty one, which is left out; and one that stands nowhere else in the source.
    hostile, plain = f"text {text}", "text"

    sources, expected = (render(Catalogue.build([with_text(0, each)])) for each in (hostile, plain))

    assert sources.keys() == expected.keys()
    for path, source in sources.items():
        written = source.replace(string_literal(hostile), string_literal(plain))
        # The signature alone is made of the default's text too.
        assert without_signature(written) == without_signature(expected[path])


def without_signature(source):
    return [line for line in source.splitlines() if ".signature(" not in line]


LOOPS = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.Name, nodes.Getattr),
    *(nodes.Filter, nodes.Const, nodes.Assign, nodes.Call),
)
"""What a template of loops is made of: no condition, no include, no macro."""


def test_the_templates_hold_loops_only():
    """Jinja's own parser finds nothing in them that could decide on, or load, what a text names."""
    environment = jinja2.Environment()
    assert TEMPLATES
    for path in TEMPLATES:
        tree = environment.parse(path.read_text(encoding="ascii"))
        assert {type(node) for node in tree.find_all(nodes.Node)} <= set(LOOPS)
        assert {node.name for node in tree.find_all(nodes.Filter)} == {"expression", "lower"}
        assert {call.node.name for call in tree.find_all(nodes.Call)} <= {"joiner", "comma"}
