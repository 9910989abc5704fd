"""Which calls of a program are recorded, and what they say of a graph."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from textwrap import dedent

import pytest

from sidecypher_procedures.code.errors import NotTraced, UnknownProgram
from sidecypher_procedures.code.python.modules import module_name
from sidecypher_procedures.code.trace.comparison import Comparison, Definition, Known, Share
from sidecypher_procedures.code.trace.programs import Recording, found, record

CASES = Path(__file__).parents[2] / "data" / "code" / "python"


class Traced:
    """A program that was run to record its calls.

    Attributes:
        status: Its exit status.
        recording: What was recorded.
    """

    def __init__(self, root, program, files):
        self.status, self.recording = record([str(each) for each in program], root, files)

    @property
    def calls(self):
        """Caller, callee and kind of each call; the name of the file is left out."""
        names = [name for _, _, name in self.recording.places]
        return {(names[one], names[other], kind) for one, other, _, kind in self.recording.calls}

    @property
    def ran(self):
        return {self.recording.places[index][2] for index in self.recording.ran}


@pytest.fixture
def traced(tmp_path):
    """Run a program that is one file."""

    def run(text, *arguments):
        (tmp_path / "main.py").write_text(dedent(text))
        return Traced(tmp_path, [tmp_path / "main.py", *arguments], ["main.py"])

    return run


def test_functions_methods_and_nested_functions_are_called(traced):
    """A call is recorded by the names that the graph gives to caller and callee."""
    done = traced("""
        class Cart:
            def __init__(self):
                self.add()

            def add(self):
                def inner():
                    pass
                inner()

        Cart()
    """)

    assert done.calls == {
        ("", "Cart.__init__", "call"),
        ("Cart.__init__", "Cart.add", "call"),
        ("Cart.add", "Cart.add.inner", "call"),
    }
    assert done.ran == {"", "Cart", "Cart.__init__", "Cart.add", "Cart.add.inner"}


def test_a_decorated_function_begins_at_its_decorator(traced):
    """The line of a function is that of its first decorator, as in the graph."""
    done = traced("""
        def deco(function):
            return function

        @deco
        @deco
        def decorated():
            pass

        decorated()
    """)

    assert ("", "decorated", "call") in done.calls
    assert ("main.py", 5, "decorated") in done.recording.places


def test_lambdas_on_one_line_have_their_numbers(traced):
    """Lambdas are numbered in the order of the file, those in comprehensions included."""
    done = traced("""
        def run():
            first, second = lambda: 1, lambda: 2
            third = [lambda: 3 for _ in "a"][0]
            second()
            third()
            (lambda: run) if (lambda: run)() else None
            sixth, seventh = lambda: run, lambda: 7
            seventh()

        run()
    """)

    assert done.calls == {
        ("", "run", "call"),
        ("run", "run.<lambda2>", "call"),
        ("run", "run.<lambda3>", "call"),
        # A condition is compiled first, and comes last.
        ("run", "run.<lambda5>", "call"),
        ("run", "run.<lambda7>", "call"),
    }


@pytest.mark.parametrize(
    "comprehension",
    [
        "[f() for _ in 'a']",
        "{f() for _ in 'a'}",
        "{f(): 1 for _ in 'a'}",
        "list(f() for _ in 'a')",
        "[[f() for _ in 'a'] for _ in 'a']",
    ],
)
def test_a_comprehension_is_part_of_the_function_around_it(traced, comprehension):
    """What a comprehension calls is called by the function around it."""
    done = traced(f"""
        def f():
            pass

        def run():
            {comprehension}

        run()
    """)

    assert done.calls == {("", "run", "call"), ("run", "f", "call")}


def test_a_generator_is_called_once(traced):
    """A generator is called by what first resumes it; resuming it again is not a call."""
    done = traced("""
        def numbers():
            yield 1
            yield 2

        def first(iterator):
            return next(iterator)

        def rest(iterator):
            return list(iterator)

        iterator = numbers()
        first(iterator)
        rest(iterator)
    """)

    assert {call for call in done.calls if call[1] == "numbers"} == {("first", "numbers", "call")}


def test_coroutines_are_called_by_what_awaits_them(traced):
    """An `await` of a coroutine is a call, an async generator is called by its loop."""
    done = traced("""
        import asyncio

        async def one():
            await asyncio.sleep(0)

        async def many():
            yield 1
            yield 2

        async def main():
            await one()
            async for _ in many():
                pass

        asyncio.run(main())
    """)

    assert done.calls == {
        ("", "main", "library"),
        ("main", "one", "call"),
        ("main", "many", "call"),
    }


def test_a_call_by_other_syntax_is_implicit(traced):
    """Properties, operators, loops and `with` call methods without a call expression."""
    done = traced("""
        class Cart:
            @property
            def size(self):
                return 1

            def __add__(self, other):
                return self

            def __len__(self):
                return 1

            def __iter__(self):
                return iter(())

            def __enter__(self):
                pass

            def __exit__(self, *error):
                pass

        def run(cart):
            cart.size
            cart + cart
            len(cart)
            for _ in cart:
                pass
            with cart:
                pass

        run(Cart())
    """)

    methods = ("size", "__add__", "__len__", "__iter__", "__enter__", "__exit__")
    assert done.calls == {
        ("", "run", "call"),
        *(("run", f"Cart.{name}", "implicit") for name in methods),
    }


def test_other_code_is_passed_over(traced):
    """What a library calls is called by the function that calls the library."""
    done = traced("""
        import contextlib
        import dataclasses

        @contextlib.contextmanager
        def opened():
            yield

        @dataclasses.dataclass
        class Cart:
            def __post_init__(self):
                pass

        def run():
            with opened():
                Cart()
            return sorted("a", key=lambda item: item)

        run()
    """)

    assert done.calls == {
        ("", "run", "call"),
        ("run", "opened", "library"),
        ("run", "Cart.__post_init__", "library"),
        # `sorted` is written in C, which has no frames.
        ("run", "run.<lambda1>", "call"),
    }


def test_threads_are_recorded_to_their_end(traced):
    """Calls in threads are recorded, also after the main program has ended."""
    done = traced("""
        import threading

        def late():
            pass

        def work():
            main.join()
            late()

        main = threading.main_thread()
        threading.Thread(target=work).start()
    """)

    assert done.calls == {("work", "late", "call")}
    assert done.ran == {"", "work", "late"}


def test_a_daemon_thread_may_go_on(traced):
    """A recording is written while a thread that nothing ends calls new functions."""
    done = traced("""
        import threading

        begun = threading.Event()
        def work():
            while True:
                exec(compile("def f(): begun.set()\\nf()", __file__, "exec"))

        exec(compile("def f(): pass\\nf()\\n" * 5000, __file__, "exec"))
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
    """)

    assert done.status == 0
    assert "f" in done.ran


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("pass", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit(7)", 7),
        ("raise SystemExit('text')", 1),
        ("raise ValueError", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", 130),
    ],
)
def test_the_exit_status_is_kept(traced, end, status):
    """However a program ends, its status is kept and its calls are recorded."""
    done = traced(f"def f():\n    {end}\n\n\nf()\n")

    assert done.status == status
    assert done.calls == {("", "f", "call")}


def test_a_program_that_is_killed_has_no_recording(traced):
    """A program that ends without Python's clean-up is an error that names its status."""
    with pytest.raises(NotTraced, match="ended with 3 and without a recording"):
        traced("import os\nos._exit(3)\n")


def test_a_trace_that_is_terminated_ends_its_program(traced):
    """SIGTERM reaches the program, which does not outlive the trace."""
    with pytest.raises(NotTraced, match="ended with 143"):
        traced("""
            import os
            import signal

            os.kill(os.getppid(), signal.SIGTERM)
            signal.pause()
        """)


def test_a_forked_child_is_not_recorded(traced):
    """What a forked child calls is not recorded, and what its parent calls afterwards is."""
    done = traced("""
        import os
        import sys

        def child():
            pass

        def parent():
            pass

        process = os.fork()
        if not process:
            child()
            sys.exit()
        os.waitpid(process, 0)
        parent()
    """)

    assert done.calls == {("", "parent", "call")}


def test_a_forked_child_writes_no_recording(traced):
    """If only a forked child comes to its end, there is no recording."""
    with pytest.raises(NotTraced):
        traced("""
            import os
            import sys

            process = os.fork()
            if not process:
                sys.exit()
            os.waitpid(process, 0)
            os._exit(3)
        """)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring has room for several tools")
def test_a_profiler_of_the_program_ends_the_recording(traced):
    """A program that calls sys.setprofile ends the recording, which is said."""
    done = traced("""
        import sys

        def before():
            pass

        def after():
            pass

        before()
        sys.setprofile(None)
        after()
    """)

    assert done.recording.is_cut
    assert done.calls == {("", "before", "call")}


def test_a_script_finds_its_folder_and_its_arguments(traced, tmp_path):
    """A script is run as by `python`: as `__main__`, with its folder on the path."""
    (tmp_path / "other.py").write_text("def called():\n    pass\n")

    done = traced(
        """
        import sys

        import other

        assert __name__ == "__main__"
        assert sys.argv[1:] == ["-x", "--", "y"]
        assert sys.path[0] == sys.argv[0].removesuffix("/main.py")
        other.called()
        """,
        *("-x", "--", "y"),
    )

    assert done.status == 0


def test_a_module_is_run_from_the_working_folder(tmp_path, monkeypatch):
    """`-m` runs a module of the working folder with its arguments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(
        "import sys\n\ndef f():\n    sys.exit(int(sys.argv[1]))\n\nf()"
    )

    done = Traced(tmp_path, ["-m", "shop", "4"], ["shop.py"])

    assert (done.status, done.calls) == (4, {("", "f", "call")})


def test_only_the_given_files_count(traced, tmp_path):
    """Code in the root that the graph does not have is other code."""
    (tmp_path / "vendored.py").write_text("def call(function):\n    function()\n")

    done = traced("""
        from vendored import call

        def f():
            pass

        call(f)
    """)

    assert done.calls == {("", "f", "library")}


def test_the_recorder_imports_only_the_standard_library():
    """A traced program finds no third-party module imported."""
    code = """
        import sys
        before = {*sys.modules}
        from sidecypher_procedures.code.trace import recorder
        new = {name.partition(".")[0] for name in {*sys.modules} - before}
        print(sorted(new - sys.stdlib_module_names))
    """

    done = subprocess.run(
        [sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=True
    )

    assert done.stdout == "['sidecypher_procedures']\n"


@pytest.mark.slow
def test_the_calls_of_known_programs_are_recorded():
    """In programs whose calls are known, 98 % of them are recorded, and little else."""
    right = missing = wrong = 0
    for case in sorted(path.parent for path in CASES.rglob("calls.json")):
        files = [path.relative_to(case).as_posix() for path in case.rglob("*.py")]
        _, recording = record([str(case / "main.py")], case, files)
        names = [
            ".".join(filter(None, (module_name(path), name))) for path, _, name in recording.places
        ]
        recorded = {
            (names[caller], names[callee])
            for caller, callee, _, kind in recording.calls
            # The truths have no properties.
            if kind != "implicit" or "__" in names[callee]
        }
        truth = json.loads((case / "calls.json").read_text())
        untaken = {tuple(call) for call in truth.pop("_untaken", [])}
        happens = {(caller, callee) for caller in truth for callee in truth[caller]} - untaken
        right += len(recorded & happens)
        missing += len(happens - recorded)
        wrong += len(recorded - happens)

    assert right / (right + missing) > 0.98
    assert wrong / right < 0.02


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (["none.py"], "no program `none.py`"),
        (["-m"], "no module ``"),
        (["-m", "no_such_module.inner"], "no module `no_such_module`"),
        (["binary"], "`binary` is not written in Python"),
    ],
)
def test_a_program_that_is_not_there_is_named(monkeypatch, tmp_path, program, message):
    """A program that cannot be run is an error before anything runs."""
    (tmp_path / "binary").write_bytes(b"\x7fELF")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))

    with pytest.raises(UnknownProgram, match=message):
        found(program)


def test_an_installed_program_is_found():
    """The programs of this Python's environment, such as pytest, are found by name."""
    path, argument = found(["pytest", "-q"])

    assert Path(path) == Path(sysconfig.get_path("scripts"), "pytest")
    assert argument == "-q"


KNOWN = Known(
    definitions=[
        Definition("m", "module", "main", "main.py", 1),
        Definition("C", "class", "main.C", "main.py", 1),
        Definition("f", "function", "main.f", "main.py", 5),
        Definition("g", "function", "main.g", "main.py", 9),
        Definition("p", "function", "main.C.p", "main.py", 2),
    ],
    calls={("m", "f"): "exact", ("f", "g"): "typed", ("f", "C"): "exact", ("g", "f"): "typed"},
    references={("f", "p"), ("m", "g")},
)
PLACES = [("main.py", 1, ""), ("main.py", 5, "f"), ("main.py", 9, "g"), ("main.py", 2, "C.p")]


def test_calls_that_happen_are_confirmed():
    """Calls of the graph that were recorded are confirmed, and count once, the plainest way."""
    recording = Recording(PLACES, [0, 1], [(0, 1, 21, "call"), (0, 1, 20, "library")])

    compared = Comparison.of(KNOWN, recording)

    assert compared.confirmed == {("m", "f")}
    none = Share(0, 0)
    assert compared.recall == {"call": Share(1, 1), "implicit": none, "library": none}
    assert compared.missing == []


def test_tiers_count_calls_whose_caller_ran():
    """A call counts against its tier if its caller ran; one of a class runs nothing."""
    recording = Recording(PLACES, [0, 1], [(0, 1, 20, "call")])

    compared = Comparison.of(KNOWN, recording)

    assert compared.tiers == {"exact": Share(1, 1), "typed": Share(0, 1)}


def test_a_property_that_is_read_is_a_reference():
    """An implicit call is in the graph as a call or a reference; a call expression as a call."""
    recording = Recording(PLACES, [], [(1, 3, 6, "implicit"), (0, 2, 20, "call")])

    compared = Comparison.of(KNOWN, recording)

    assert compared.recall["implicit"] == Share(1, 1)
    assert [(each.caller, each.callee, each.line) for each in compared.missing] == [
        ("main", "main.g", 20)
    ]
    assert compared.confirmed == set()


def test_functions_that_the_graph_does_not_have_are_counted():
    """A function on a line where the graph has none is unknown, and its calls are left out."""
    recording = Recording([*PLACES, ("main.py", 7, "f")], [0, 4], [(0, 4, 20, "call")])

    compared = Comparison.of(KNOWN, recording)

    assert (compared.unknown, compared.missing) == (1, [])
    assert compared.recall["call"] == Share(0, 0)
