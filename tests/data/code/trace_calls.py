"""Record who calls whom in a case of tests/data/code/python, to verify its calls.json.

    trace_calls.py CASE_FOLDER    run main.py of the case, print the recorded calls as JSON
    trace_calls.py --check        run all cases and compare them with their calls.json

A recorded call must be in calls.json; what calls.json has beyond that must be listed under
"_untaken". Calls come from sys.setprofile. Two things it cannot tell are put into the syntax
tree before it is compiled: lambdas and comprehensions get a line number of their own (several
can share a line), and each function gets an innermost decorator that notes, for generators and
coroutines, who creates them (the profiler only sees who resumes them).
"""

import ast
import builtins
import contextlib
import functools
import importlib.machinery
import inspect
import io
import itertools
import json
import subprocess
import sys
import threading
import types
from collections import Counter, defaultdict
from pathlib import Path

CREATED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
PROPERTY = {"property", "cached_property", "setter", "deleter"}  # an access is not a call
IMPLICIT = {"init", "new", "post_init", "call", "enter", "exit", "aenter", "aexit"}
IMPLICIT |= {"iter", "next", "getitem", "setitem"}  # other dunder methods are operators
COMPREHENSIONS = {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>"}
COMPREHENSIONS |= {ast.DictComp: "<dictcomp>", ast.GeneratorExp: "<genexpr>"}

scopes = {}  # (file, first line, code name) -> qualified name
callees = set()  # those of the keys above that count as callees
starters = {}  # thread -> qualified name of the function that started it
edges = defaultdict(set)
lambdas, fresh_line = Counter(), itertools.count(1_000_000)


def parts(node):
    """The parts of a node in order of appearance."""
    found = []
    for part in ast.iter_child_nodes(node):
        found += [part] if hasattr(part, "lineno") else parts(part)
    return sorted(found, key=lambda part: (part.lineno, part.col_offset))


def label(node, scope, file):
    """Note the qualified names of the scopes in a node, and decorate its functions."""
    inner, body, below = scope, getattr(node, "body", []), parts(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inner = f"{scope}.{node.name}"
        key = file, (node.decorator_list or [node])[0].lineno, node.name
        scopes[key] = inner
        if not isinstance(node, ast.ClassDef):
            decorators = {ast.unparse(d).split(".")[-1] for d in node.decorator_list}
            dunder = node.name.startswith("__") and node.name.endswith("__")
            if not decorators & PROPERTY and (not dunder or node.name.strip("_") in IMPLICIT):
                callees.add(key)
            note = ast.Name("__note_creation__", ast.Load())
            node.decorator_list.append(ast.copy_location(note, node))
    elif isinstance(node, ast.Lambda) or type(node) in COMPREHENSIONS:
        node.lineno = node.end_lineno = next(fresh_line)
        node.end_col_offset = node.col_offset + 1
        if isinstance(node, ast.Lambda):
            lambdas[scope] += 1
            inner, body = f"{scope}.<lambda{lambdas[scope]}>", [node.body]
            callees.add((file, node.lineno, "<lambda>"))
        scopes[file, node.lineno, COMPREHENSIONS.get(type(node), "<lambda>")] = inner
    for part in below:
        label(part, inner if isinstance(body, list) and part in body else scope, file)


def load(file, folder):
    """Compile a file of the case, prepared for the profiler."""
    tree, module = ast.parse(file.read_text()), file.relative_to(folder).with_suffix("")
    name = ".".join(module.parent.parts if module.name == "__init__" else module.parts)
    for part in parts(tree):
        label(part, name, str(file))
    code = compile(tree, str(file), "exec")
    scopes[key(code)] = name
    return code


def key(code):
    return code.co_filename, code.co_firstlineno, code.co_name


def owner(frame):
    """The nearest scope of the case that a frame belongs to or was called from."""
    while frame and key(frame.f_code) not in scopes:
        frame = frame.f_back
    return scopes[key(frame.f_code)] if frame else starters.get(threading.current_thread())


def record(frame, code):
    if key(code) in callees:
        edges[owner(frame)].add(scopes[key(code)])


def note_creation(function):
    @functools.wraps(function)
    def create(*args, **kwargs):
        record(sys._getframe(1), function.__code__)
        return function(*args, **kwargs)

    return create if function.__code__.co_flags & CREATED else function


def profile(frame, event, _):
    if event == "call" and frame.f_code is threading.Thread.start.__code__:
        starters[frame.f_locals["self"]] = owner(frame.f_back)
    elif event == "call" and not frame.f_code.co_flags & CREATED:
        record(frame.f_back, frame.f_code)


def trace(folder):
    """Run main.py of a case and return its calls."""
    library, sys.dont_write_bytecode = importlib.machinery.SourceFileLoader.get_code, True

    def get_code(self, name):
        file = Path(self.path)
        return load(file, folder) if folder in file.parents else library(self, name)

    importlib.machinery.SourceFileLoader.get_code = get_code
    builtins.__note_creation__ = note_creation
    sys.path[0], sys.argv = str(folder), [str(folder / "main.py")]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = str(folder / "main.py")
    code = load(folder / "main.py", folder)
    threading.setprofile(profile)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.setprofile(profile)
        try:
            exec(code, main.__dict__)
        finally:
            sys.setprofile(None)
    return {caller: sorted(edges[caller]) for caller in sorted(edges, key=str)}


def check(root):
    """Compare all cases with their calls.json; the number of cases that differ."""
    failed = total = 0
    cases = sorted(file.parent for file in root.glob("*/*/main.py"))
    for case in cases:
        command = [sys.executable, __file__, case]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        truth = json.loads((case / "calls.json").read_text())
        untaken = {tuple(edge) for edge in truth.pop("_untaken", [])}
        wanted = {(caller, callee) for caller in truth for callee in truth[caller]}
        calls = json.loads(run.stdout or "{}")
        found = {(caller, callee) for caller in calls for callee in calls[caller]}
        total += len(wanted)
        wrong = [("missing in calls.json", found - wanted), ("wrongly untaken", untaken & found)]
        wrong += [("not recorded", wanted - found - untaken), ("no call", untaken - wanted)]
        wrong += [("not sorted", {c for c in truth if truth[c] != sorted(set(truth[c]))})]
        wrong = [f"{what}: {sorted(which)}" for what, which in wrong if which]
        if run.returncode or wrong:
            failed += 1
            lines = [str(case.relative_to(root)), *wrong, run.stderr]
            sys.stdout.write("\n  ".join(lines) + "\n")
    sys.stdout.write(f"{len(cases)} cases, {total} calls, {failed} cases failed\n")
    return failed


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(check(Path(__file__).resolve().parent / "python") > 0)
    sys.stdout.write(json.dumps(trace(Path(sys.argv[1]).resolve()), indent=2) + "\n")
