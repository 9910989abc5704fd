"""Results of `ctx.run`: chains of pages."""

import asyncio
import gc
import json
import weakref

import pytest

from sidecypher import Result
from sidecypher.errors import ArgumentError, ContextExpired, CypherError, ValueTypeError
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import RunError, RunReply
from sidecypher.sdk.call import Call
from sidecypher.sdk.results import Statements


class Mark:
    """Something in a record that can be watched, as a dict cannot."""


def marked(record):
    record["mark"] = mark = Mark()
    return weakref.ref(mark)


class Jvm:
    """Answers statements: each is a list of pages, given one by one; None is a failure."""

    def __init__(self):
        self.asked = []
        self.open = {}

    def __call__(self, method, request):
        self.asked.append((method, request.cursor))
        if method == "run":
            self.open[request.cursor] = json.loads(request.cypher)
        pages = self.open.pop(request.cursor)
        if method == "discard":
            return RunReply()
        page, *rest = pages
        if page is None:
            return RunReply(error=RunError("Neo.ClientError", "It broke"))
        if rest:
            self.open[request.cursor] = rest
        return RunReply(["n"], [[value] for value in page], more=bool(rest))


@pytest.fixture
def jvm():
    return Jvm()


@pytest.fixture
def run(jvm):
    """Run a statement whose pages are given; return its result."""
    state = Call("1", "kg.echo", "graph", "ann")
    state.serve(jvm, Deadline.after(60.0))
    statements = Statements(state)
    return lambda *pages: Result(*statements.run(json.dumps(pages), {}))


def values(records):
    return [record["n"] for record in records]


def test_a_result_is_its_records():
    """Records are iterated as often as wanted, in order."""
    result = Result.of([{"n": 1}, {"n": 2}])

    assert list(result) == list(result) == [{"n": 1}, {"n": 2}]
    assert len(result) == 2


def test_pages_are_fetched_when_they_are_read(run, jvm):
    """A page is asked for when the one before it has been read, and once only."""
    result = run([1, 2], [3], [], [4])
    records = iter(result)

    assert jvm.asked == [("run", 1)]
    assert values([next(records), next(records)]) == [1, 2]
    assert jvm.asked == [("run", 1)]
    assert values([next(records)]) == [3]
    assert jvm.asked == [("run", 1), ("next", 1)]
    assert values(records) == [4]
    assert values(result) == values(result) == [1, 2, 3, 4]
    assert len(jvm.asked) == 4


def test_the_length_takes_all_pages(run, jvm):
    """`len` counts all records, which can be read afterwards."""
    result = run([1, 2], [3])

    assert len(result) == 3
    assert values(result) == [1, 2, 3]
    assert len(jvm.asked) == 2


def test_a_loop_keeps_one_page_only(run):
    """Pages that were read are freed, unless the body still holds the result."""
    held = run([1], [2], [3])
    kept = marked(next(iter(held)))
    assert values(held) == [1, 2, 3]
    assert kept() is not None

    records = iter(run([1], [2], [3]))
    freed = marked(next(records))
    assert values(records) == [2, 3]
    gc.collect()
    assert freed() is None


def test_a_further_statement_sees_no_half_read_result(run, jvm):
    """What an open result has left is fetched before the next statement runs."""
    first = run([1], [2], [3])
    records = iter(first)
    next(records)

    second = run([4])

    assert jvm.asked == [("run", 1), ("next", 1), ("next", 1), ("run", 2)]
    assert values(records) == [2, 3]
    assert values(second) == [4]


def test_what_nobody_can_read_is_discarded(run, jvm):
    """A result that is dropped or closed is not fetched to its end, but discarded."""
    for _record in run([1], [2], [3]):
        break
    closed = run([4], [5])
    closed.close()

    run([6])

    assert jvm.asked == [("run", 1), ("discard", 1), ("run", 2), ("discard", 2), ("run", 3)]
    assert jvm.open == {}


@pytest.mark.slow
@pytest.mark.parametrize("use", [list, len])
def test_who_reads_on_after_closing_is_told(run, use):
    """Records that are there can be read; an error comes where those begin that never will."""
    result = run([1], [2, 3])
    records = iter(result)
    assert next(records) == {"n": 1}
    result.close()

    with pytest.raises(ContextExpired, match="was read after it was closed"):
        use(result)
    with pytest.raises(ContextExpired, match="was read after it was closed"):
        next(records)
    assert next(iter(result)) == {"n": 1}


def test_closing_a_whole_result_changes_nothing(run):
    """All of its records are there."""
    result = run([1], [2])
    assert values(result) == [1, 2]

    result.close()

    assert values(result) == [1, 2]


def test_results_that_end_leave_nothing_to_discard(run, jvm):
    """A result that was read to its end is closed already."""
    for _record in run([1], [2]):
        pass
    run([3])

    assert jvm.asked == [("run", 1), ("next", 1), ("run", 2)]


def test_a_result_that_breaks_on_its_way_dooms_the_call(run):
    """A failure in a later page is raised where it is read, and by every later statement."""
    result = run([1], None)
    records = iter(result)
    next(records)

    for _ in range(2):
        with pytest.raises(CypherError, match="It broke"):
            next(iter(list(result)))
    with pytest.raises(CypherError, match="It broke"):
        next(records)


def test_a_page_that_cannot_be_read_ends_no_result_silently(run):
    """After a value without a Python type, reading on fails again instead of leaving rows out."""
    result = run([1], [{"$float": "x"}], [3])

    for _ in range(2):
        with pytest.raises(ValueTypeError):
            list(result)


def test_the_only_record(run):
    """`single` gives the one record, on whichever page it is."""
    assert Result.of([{"n": 1}]).single() == {"n": 1}
    assert run([], [1], []).single() == {"n": 1}


@pytest.mark.parametrize(
    ("pages", "told"), [([[]], "no record"), ([[1, 2]], "several records"), ([[1], [2]], "several")]
)
def test_no_or_several_records_are_not_single(run, pages, told):
    """`single` refuses another number than one."""
    with pytest.raises(ArgumentError, match=f"returned {told}"):
        run(*pages).single()


def test_more_than_two_records_are_not_fetched_for_single(run, jvm):
    """`single` reads no further than it must."""
    with pytest.raises(ArgumentError):
        run([1], [2], [3], [4]).single()

    assert jvm.asked == [("run", 1), ("next", 1)]


# In async bodies


async def hand(work):
    await asyncio.sleep(0)
    return work()


@pytest.fixture
def later(run):
    """The same for an async body."""

    def begin(*pages):
        result = run(*pages)
        return result._page, result._cursor

    return lambda *pages: Result.later(lambda: begin(*pages), hand)


def test_an_awaited_result_has_all_records(later, jvm):
    """`await` fetches all pages; the result can be used and awaited again."""

    async def body():
        result = later([1], [2], [3])
        return values(await result), values(await result), len(result)

    assert asyncio.run(body()) == ([1, 2, 3], [1, 2, 3], 3)
    assert len(jvm.asked) == 3


def test_async_for_takes_page_by_page(later, jvm):
    """`async for` asks for a page when the one before it has been read."""

    async def body():
        result = later([1, 2], [3], [4])
        asked = [(record["n"], len(jvm.asked)) async for record in result]
        return asked, [record["n"] async for record in result]

    assert asyncio.run(body()) == ([(1, 1), (2, 1), (3, 2), (4, 3)], [1, 2, 3, 4])


def test_async_for_keeps_one_page_only(later):
    """In async bodies too a loop over `ctx.run` frees the pages it has read."""

    async def body():
        records = aiter(later([1], [2], [3]))
        freed = marked(await anext(records))
        rest = [record["n"] async for record in records]
        gc.collect()
        return rest, freed()

    assert asyncio.run(body()) == ([2, 3], None)


def test_a_result_that_was_given_up_may_stay_unread(later, jvm):
    """`close` before anything was awaited: the statement is not run."""
    later([1], [2]).close()

    assert jvm.asked == []


def test_who_reads_on_after_closing_is_told_on_the_event_loop(later):
    """So it is by `async for`, and by `await`, before the first page or after it."""

    async def body():
        begun = later([1], [2])
        records = aiter(begun)
        await anext(records)
        begun.close()
        unread = later([1])
        unread.close()
        for read in (anext(records), _all(begun), _all(unread), unread):
            with pytest.raises(ContextExpired, match="was read after it was closed"):
                await read

    asyncio.run(body())


async def _all(result):
    return [record async for record in result]


@pytest.mark.parametrize("use", [iter, len, Result.single])
def test_a_result_that_was_not_awaited_tells_to_do_so(later, use):
    """An async body that forgets `await` is told what to write."""
    result = later([1])

    with pytest.raises(ContextExpired) as caught:
        use(result)
    result.close()

    assert caught.value.hint == "In an async function write `await ctx.run(...)`."


def test_a_statement_that_nobody_awaits_is_warned_of(later):
    """Python itself tells of a forgotten `await`."""
    result = later([1])

    with pytest.warns(RuntimeWarning, match="never awaited"):
        del result
