"""What runs in the home: the supervisor with its processes, and each sidecar."""

from sidecypher.cli.doctor.findings import Finding, error, ok, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher.errors import SidecypherError
from sidecypher.rendezvous import Announcement


def look_at_processes(subject: Subject) -> Finding:
    """Tell whether the supervisor and its processes run, and how often one was restarted."""
    state = subject.state
    if subject.settings.neo4j_uri and not subject.runs:
        return ok("there is none; Neo4j is the one that `neo4j_uri` names")
    if state is None:
        return warn("nothing was started in this home yet", subject.way_to_start)
    if not state.alive:
        left = [each.name for each in state.orphans]
        if left:
            return error(
                f"the supervisor was killed, and {', '.join(left)} went on without it",
                "Run `sidecypher up`: it stops them and starts everything.",
            )
        return warn("nothing runs", subject.way_to_start)
    down = [each.name for each in state.processes if not each.alive]
    if down or state.status != "ready":
        what = f"not running: {', '.join(down)}" if down else f"the supervisor is {state.status}"
        return error(what, "Read the end of its log in `logs` of the home.")
    told = ", ".join(f"{each.name} ({each.pid})" for each in state.processes)
    restarted = [f"{each.name} {each.restarts} times" for each in state.processes if each.restarts]
    if restarted:
        return warn(
            f"{told}; restarted: {', '.join(restarted)}",
            "Read in `logs` of the home why it ended.",
        )
    return ok(told)


def look_at_sidecars(subject: Subject) -> Finding:
    """Tell whether each sidecar is ready, and how its shared objects are."""
    if not subject.sidecars:
        return warn("no sidecar runs", subject.way_to_start)
    problems = [
        f"process {each.pid}: {problem}"
        for each in subject.sidecars
        for problem in _problems(subject, each)
    ]
    if problems:
        return error("; ".join(problems), "Read the end of its log; restart it if it stays so.")
    count = len(subject.sidecars)
    return ok("1 is ready" if count == 1 else f"{count} are ready")


def _problems(subject: Subject, sidecar: Announcement) -> list[str]:
    ready = subject.get(sidecar, "/readyz?verbose")
    if not ready.is_success:
        return [line for line in ready.text.splitlines() if line.startswith("[-]")]
    if sidecar.left_out:
        return [f"`{module}` is left out" for module in sidecar.left_out]
    if sidecar != subject.sidecars[0]:
        return []
    try:
        told = subject.ask("sidecypher.health")
    except SidecypherError as error:
        return [error.message]
    return [f"{row['check']}: {row['problem']}" for row in told if not row["ok"]]
