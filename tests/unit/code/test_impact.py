"""Which lines a diff changes, and which files are tests."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.code.errors import BadDiff
from sidecypher_procedures.code.impact import changed_lines, is_test_file

LINES = st.lists(st.sampled_from(["--- a", "+++ b", "@@ -1 +1 @@", "-", "+", "x", ""]), max_size=8)


@given(LINES, LINES)
def test_changed_lines_are_those_of_the_old_file(old, new):
    """Removed lines are found, and lines behind which others are added, whatever the lines are."""
    diff = difflib.unified_diff(old, new, "a/x.py", "b/x.py", lineterm="")
    matcher = difflib.SequenceMatcher(None, old, new)
    expected = set()
    for kind, start, end, _, _ in matcher.get_opcodes():
        if kind in {"delete", "replace"}:
            expected |= set(range(start + 1, end + 1))
        elif kind == "insert":
            expected.add(max(start, 1))

    found = set(changed_lines("\n".join(diff)).get("x.py", ()))

    # A replacement by more lines also adds behind its last line, which it has itself removed.
    assert found == expected


@pytest.mark.parametrize(
    ("shown", "path"),
    [
        (r'"a/caf\303\251.py"', "café.py"),
        (r'"a/say \"hi\".py"', 'say "hi".py'),
        ('"a/caf\u00e9\\t.py"', "café\t.py"),
        (r'"a/no \351.py"', "no \ufffd.py"),
        ("a/with space.py", "with space.py"),
    ],
)
def test_paths_are_read_as_git_quotes_them(shown, path):
    """Git puts a path in quotes, with escapes, if it has other than plain ASCII letters."""
    diff = f"--- {shown}\n+++ {shown}\n@@ -4 +4 @@\n-old\n+new\n"

    assert changed_lines(diff) == {path: [4]}


def test_several_files_are_told_apart():
    """Each file has its lines; a new file has none, and what git says besides is passed over."""
    diff = """\
diff --git a/shop/cart.py b/shop/cart.py
index 1..2 100644
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -3 +3 @@ class Cart:
-    old
+    new
\\ No newline at end of file
--- /dev/null
+++ b/shop/new.py
@@ -0,0 +1 @@
+x = 1
"""

    assert changed_lines(diff) == {"shop/cart.py": [3]}


def test_only_a_line_feed_ends_a_line_of_a_diff():
    """A form feed, which many sources have between their parts, moves no line behind it."""
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n \x0c\n def f():\n-    old\n+    new\n"

    assert changed_lines(diff) == {"x.py": [3]}


def test_a_hunk_ends_with_the_text():
    """A hunk that says that it is longer than the text has the lines that are there."""
    diff = f"--- a/x.py\n+++ b/x.py\n@@ -4,{10**15} +4,{10**15} @@\n same\n-old\n"

    assert changed_lines(diff) == {"x.py": [5]}


def test_a_text_that_is_no_diff_is_refused():
    """A text without a part that begins with `@@` is an error, not a change of nothing."""
    with pytest.raises(BadDiff):
        changed_lines("please look at cart.py")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/data.py", True),
        ("shop/test_cart.py", True),
        ("shop/cart_test.go", True),
        ("src/cart.spec.ts", True),
        ("src/CartTest.java", True),
        ("src/CartTests.java", True),
        ("spec/cart_spec.rb", True),
        ("conftest.py", True),
        ("shop/latest.py", False),
        ("shop/contest.py", False),
        ("shop/attest.go", False),
        ("shop/cart.py", False),
    ],
)
def test_tests_are_known_by_their_files(path, expected):
    """Files are tests by the names that pytest, go test, Jest, JUnit and RSpec look for."""
    assert is_test_file(path) is expected
