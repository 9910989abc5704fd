"""Settings: flags over variables over the TOML file over defaults, and nothing unknown."""

import os
from pathlib import Path

import pytest

from sidecypher.errors import SettingsError
from sidecypher.host.address import bolt_address
from sidecypher.host.settings import (
    Settings,
    load_settings,
    neo4j_environment,
    read_password,
    read_settings,
)

SECRET = "hunter2"


def toml(folder, text, name="sidecypher.toml"):
    path = folder / name
    path.write_text(text)
    return path


def refused(flags=None, environ=None, config=None):
    with pytest.raises(SettingsError) as caught:
        load_settings(flags or {}, environ or {}, config)
    assert caught.value.code == "SC-601"
    return caught.value


def test_without_any_setting_the_defaults_hold():
    """Nothing given: every setting has its default."""
    assert load_settings({}, {}) == Settings()


def test_flags_beat_variables_beat_the_file_beat_defaults(tmp_path):
    """A setting comes from the nearest source that gives it."""
    config = toml(tmp_path, "port = 1\nhttp_port = 1\nbolt_port = 1\n")
    environ = {"SIDECYPHER_PORT": "2", "SIDECYPHER_HTTP_PORT": "2"}

    settings = load_settings({"port": 3, "http_port": None}, environ, config)

    assert (settings.port, settings.http_port, settings.bolt_port) == (3, 2, 1)
    assert settings.browser_port == 0


def test_the_file_is_named_by_a_variable_or_a_flag(tmp_path):
    """`--config` is read in place of the file that SIDECYPHER_CONFIG names."""
    one, two = toml(tmp_path, "port = 1", "one.toml"), toml(tmp_path, "port = 2", "two.toml")

    assert load_settings({}, {"SIDECYPHER_CONFIG": str(one)}).port == 1
    assert load_settings({}, {"SIDECYPHER_CONFIG": str(one)}, two).port == 2


@pytest.mark.parametrize(
    "name",
    ["PROT", "HOME_FILE", "PORT_FILE", "LOGLEVEL", "LOG_LEVLE", "SIDECAR", "HTTP_PROT", "POOLSIZE"],
)
def test_a_misspelt_variable_is_refused_by_name(name):
    """A mistyped variable is told, and its value is not."""
    variable = f"SIDECYPHER_{name}"
    error = refused(environ={variable: SECRET})

    assert f"`{variable}`" in error.message
    assert SECRET not in f"{error}{error.hint}"


def test_variables_of_others_are_left_alone():
    """Variables of procedures, shipped or not, of tests, the plugin and other programs."""
    environ = {
        "SIDECYPHER_GITHUB_TOKEN": SECRET,
        "SIDECYPHER_TEST_ANYTHING": "1",
        "SIDECYPHER_TEST_CALLS": "1",
        "SIDECYPHER_ACME_TOKEN": SECRET,
        "SIDECYPHER_ACME_PORT": "1",
        "SIDECYPHER_ACME_SHUTDOWN_SECONDS": "1",
        "SIDECYPHER_POOL_SIZE": "4",
        "PORT": "1",
        "sidecypher_port": "1",
    }

    assert load_settings({}, environ) == Settings()


def test_an_unknown_name_in_the_file_is_refused(tmp_path):
    """A mistyped name in the TOML file is told with the file's name, not its path."""
    error = refused(config=toml(tmp_path, 'prot = "hunter2"'))

    assert error.message == "The settings file `sidecypher.toml` has the unknown name `prot`"
    assert str(tmp_path) not in f"{error}{error.hint}"


def test_a_file_that_is_not_there_is_told(tmp_path):
    """A missing file is an error by its name, not a silent default."""
    error = refused(config=tmp_path / "none.toml")

    assert "`none.toml` cannot be read: No such file or directory" in error.message
    assert "SIDECYPHER_CONFIG" in error.hint


@pytest.mark.parametrize("content", [b"port = hunter2", b"port 5", b"= 5", b"\xff\xfe", b"[a\n"])
def test_a_file_that_is_no_toml_is_told(tmp_path, content):
    """What is not TOML is refused by the file's name, without its content."""
    path = tmp_path / "bad.toml"
    path.write_bytes(content)

    error = refused(config=path)

    assert error.message.startswith("The settings file `bad.toml` is not TOML")
    assert SECRET not in error.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "hunter2"),
        ("port", "-1"),
        ("http_port", "65536"),
        ("bolt_port", "1.5"),
        ("log_level", "hunter2"),
        ("log_level", "debug"),
        ("log_format", "hunter2"),
        ("shutdown_seconds", "hunter2"),
        ("shutdown_seconds", "-1"),
        ("shutdown_seconds", "nan"),
        ("shutdown_seconds", "301"),
        ("worker_processes", "-1"),
        ("worker_memory_mb", "63"),
        ("stream_lease_seconds", "0"),
        ("stream_lease_seconds", "inf"),
        ("stuck_calls_limit", "-1"),
        ("http_calls", "0"),
        ("lane", "LTS"),
    ],
)
def test_a_value_that_cannot_be_used_names_its_setting_and_not_itself(name, value):
    """A wrong value is told by its setting's name and all places it may come from."""
    error = refused(environ={f"SIDECYPHER_{name.upper()}": value})

    assert f"The setting `{name}` cannot be used" in error.message
    assert f"SIDECYPHER_{name.upper()}" in error.hint
    assert SECRET not in f"{error}{error.hint}"


def test_the_values_a_setting_may_have_are_told_as_they_are_written():
    """Where only a few words are allowed, the error lists them in their own case."""
    assert "'DEBUG', 'INFO', 'WARNING' or 'ERROR'" in refused({"log_level": "loud"}).message


def test_a_wrong_secret_is_never_shown(tmp_path):
    """A password of a wrong type is refused without a trace of it."""
    error = refused(config=toml(tmp_path, 'neo4j_password = ["hunter2"]'))

    assert "`neo4j_password`" in error.message
    assert SECRET not in f"{error!r}{error}{error.hint}{error.details}"
    assert error.__suppress_context__


@pytest.mark.parametrize(
    "uri",
    [
        "bolt://localhost",
        "bolt://localhost:7687",
        "BOLT://127.0.0.1:1/",
        "bolt+s://graph.example.com:65535",
        "bolt+ssc://[::1]:7687",
        "neo4j://my_graph:7687?policy=here",
        "neo4j+s://b\u00fccher.example",
        "neo4j+ssc://graph",
    ],
)
def test_an_address_of_neo4j_is_taken_as_it_is(uri):
    """Each scheme that the driver knows, with and without a port."""
    assert load_settings({}, {"SIDECYPHER_NEO4J_URI": uri}).neo4j_uri == uri


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        (f"http://{SECRET}:7474", "scheme"),
        (f"{SECRET}:7687", "scheme"),
        (SECRET, "scheme"),
        (f"bolt+unix://{SECRET}", "scheme"),
        ("bolt://", "host"),
        ("bolt://:7687", "host"),
        (f"bolt:{SECRET}", "host"),
        (f"bolt://[{SECRET}", "host or its port"),
        (f"bolt://{SECRET}..b", "host or its port"),
        (f"bolt://localhost:{SECRET}", "host or its port"),
        ("bolt://localhost:-1", "host or its port"),
        ("bolt://localhost:65536", "host or its port"),
        ("bolt://localhost:0", "port is 0"),
        (f"bolt://neo4j:{SECRET}@localhost:7687", "user and password"),
        (f"neo4j+s://{SECRET}@localhost", "user and password"),
        (f"bolt://{SECRET} :7687", "space"),
        (f"bolt://local\n{SECRET}", "control"),
        (f"bolt://localhost/{SECRET}", "more than"),
        (f"bolt://localhost?a={SECRET}", "more than"),
        (f"neo4j://localhost#{SECRET}", "more than"),
    ],
)
def test_what_cannot_be_an_address_of_neo4j_is_refused(uri, problem):
    """When it is read, by its name and what is wrong with it, and without what was given."""
    error = refused(environ={"SIDECYPHER_NEO4J_URI": uri})

    assert error.message.startswith("The setting `neo4j_uri` cannot be used: ")
    assert problem in error.message
    assert "value error" not in error.message
    assert SECRET not in error.message + error.hint
    assert "SIDECYPHER_NEO4J_URI" in error.hint


ELSEWHERE = {
    "NEO4J_URI": "neo4j://elsewhere",
    "NEO4J_USERNAME": "ann",
    "NEO4J_PASSWORD": SECRET,
    "NEO4J_DATABASE": "people",
}


def server_of(settings):
    """Give address, user, password and database."""
    password = settings.neo4j_password
    return (
        settings.neo4j_uri,
        settings.neo4j_user,
        password and password.get_secret_value(),
        settings.neo4j_database,
    )


def test_the_variables_of_neo4js_tools_name_a_server():
    """`NEO4J_URI` and its three companions are read as cypher-shell reads them."""
    settings, origins = read_settings({}, ELSEWHERE)

    assert server_of(settings) == ("neo4j://elsewhere", "ann", SECRET, "people")
    assert origins["neo4j_uri"] == "Neo4j's variables"
    assert bolt_address(settings).database == "people"


def test_without_an_address_their_companions_do_not_count():
    """The embedded Neo4j gets neither a password nor a database that another server has."""
    environ = {name: value for name, value in ELSEWHERE.items() if name != "NEO4J_URI"}

    assert load_settings({}, environ) == Settings()


@pytest.mark.parametrize("place", ["file", "environment", "option"])
def test_a_password_does_not_reach_an_address_of_another_place(tmp_path, place):
    """With two addresses, what belongs to the weaker one is dropped with it."""
    file = toml(tmp_path, 'neo4j_uri = "bolt://here"') if place == "file" else None
    environ = {"SIDECYPHER_NEO4J_URI": "bolt://here"} if place == "environment" else {}
    flags = {"neo4j_uri": "bolt://here"} if place == "option" else {}

    found = load_settings(flags, ELSEWHERE | environ, file)

    assert server_of(found) == ("bolt://here", "neo4j", None, "")


def test_an_empty_address_opts_out_of_neo4js_variables(tmp_path):
    """The embedded Neo4j gets neither the user, the password nor the database of the other one."""
    file = toml(tmp_path, 'neo4j_uri = ""')

    assert server_of(load_settings({}, ELSEWHERE, file)) == server_of(Settings())


def test_each_place_overrides_the_weaker_ones(tmp_path):
    """An option goes before a variable of sidecypher, its file, and a variable of Neo4j's tools."""
    file = toml(tmp_path, 'neo4j_user = "of the file"\nneo4j_database = "of the file"')
    environ = ELSEWHERE | {"SIDECYPHER_NEO4J_DATABASE": "of the variable"}

    found = load_settings({"neo4j_database": "of the option"}, environ, file)

    assert server_of(found) == ("neo4j://elsewhere", "of the file", SECRET, "of the option")
    assert load_settings({}, environ, file).neo4j_database == "of the variable"


def test_an_address_of_neo4js_variables_is_checked_too():
    """The hint has the variable that holds it, and nothing has its value."""
    error = refused(environ={"NEO4J_URI": f"http://{SECRET}"})

    assert error.hint == "Correct the variable NEO4J_URI."
    assert error.details == {"variable": "NEO4J_URI"}
    assert SECRET not in error.message


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, {"uri": "bolt://127.0.0.1:7687", "user": "neo4j"}),
        (
            {"NEO4J_PASSWORD": "p"},
            {"uri": "bolt://127.0.0.1:7687", "user": "neo4j", "password": "p"},
        ),
        (
            {"SIDECYPHER_NEO4J_URI": "bolt://here", **ELSEWHERE},
            {"uri": "bolt://here", "user": "neo4j"},
        ),
    ],
    ids=["nothing", "a password", "two addresses"],
)
def test_a_client_outside_of_a_sidecar_reads_the_same_variables(environ, found):
    """Without an address it is Bolt's usual one on this machine."""
    assert neo4j_environment(environ) == found


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("tls://10.0.0.7:7001", ("10.0.0.7", 7001)),
        ("tls://gpu.example:1", ("gpu.example", 1)),
        ("tls://[fd00::7]:7001", ("fd00::7", 7001)),
        ("", None),
    ],
)
def test_an_address_to_listen_on_has_a_host_and_a_port(address, found):
    """Without one the sidecar serves its own machine only."""
    assert load_settings({"listen": address}, {}).listen_address == found


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("10.0.0.7:7001", "scheme"),
        ("tcp://10.0.0.7:7001", "scheme"),
        ("tls://10.0.0.7", "names no port"),
        ("tls://10.0.0.7:0", "port is 0"),
        ("tls://:7001", "names no host"),
        ("tls://0.0.0.0:7001", "by which Neo4j reaches this machine"),
        ("tls://[::]:7001", "by which Neo4j reaches this machine"),
        ("tls://user@10.0.0.7:7001", "user and password"),
        ("tls://10.0.0.7:7001/path", "more than"),
    ],
)
def test_what_cannot_be_listened_on_is_refused(address, problem):
    """All addresses of a machine at once are refused too: the plugin needs one to connect to."""
    error = refused(environ={"SIDECYPHER_LISTEN": address})

    assert "`listen`" in error.message
    assert problem in error.message


def test_a_secret_comes_from_a_file(tmp_path):
    """`SIDECYPHER_NEO4J_PASSWORD_FILE` names a file that holds the password."""
    path = toml(tmp_path, f"{SECRET}\n", "password")

    settings = load_settings({}, {"SIDECYPHER_NEO4J_PASSWORD_FILE": str(path)})

    assert settings.neo4j_password.get_secret_value() == SECRET
    assert SECRET not in f"{settings!r}{settings}"


@pytest.mark.parametrize(
    ("content", "password"),
    [
        (b" hunter2\t", " hunter2\t"),
        (b"hunter2 \n", "hunter2 "),
        (b"hunter2\n\n", "hunter2\n"),
        (b"hunter2\r\n", "hunter2"),
        (b"hun\rter2", "hun\rter2"),
        ("h\u00fcnter2\u00a0".encode(), "h\u00fcnter2\u00a0"),
        (b"\n", ""),
    ],
)
def test_a_password_file_loses_its_final_newline_only(tmp_path, content, password):
    """An editor ends a file with a newline; anything else in it is the password."""
    (tmp_path / "password").write_bytes(content)

    assert read_password(tmp_path / "password") == password


def test_the_password_of_the_home_is_read_as_any_other(tmp_path):
    """Whoever has changed it may have chosen one with spaces at its ends."""
    (tmp_path / "ports.json").write_text('{"bolt": 7687, "http": 7474}')
    (tmp_path / "neo4j-password").write_text(f" {SECRET} \n")

    address = bolt_address(load_settings({"home": tmp_path}, {}))

    assert (address.uri, address.auth) == ("bolt://127.0.0.1:7687", ("neo4j", f" {SECRET} "))
    assert SECRET not in repr(address)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_secret_given_directly_beats_its_file(tmp_path, reverse):
    """The variable wins over the one that names a file, whatever their order."""
    path = toml(tmp_path, "from the file", "password")
    pairs = [
        ("SIDECYPHER_NEO4J_PASSWORD", SECRET),
        ("SIDECYPHER_NEO4J_PASSWORD_FILE", str(path)),
    ]

    settings = load_settings({}, dict(pairs[::-1] if reverse else pairs))

    assert settings.neo4j_password.get_secret_value() == SECRET


def test_an_empty_secret_file_is_refused(tmp_path):
    """A secret that was not written never means a connection without a password."""
    error = refused(
        environ={"SIDECYPHER_NEO4J_PASSWORD_FILE": str(toml(tmp_path, "\n", "password"))}
    )

    assert error.message == "The file named by SIDECYPHER_NEO4J_PASSWORD_FILE is empty"


@pytest.mark.parametrize("name", ["SIDECYPHER_NEO4J_PASSWORD_FILE", "SIDECYPHER_CONFIG"])
def test_files_that_variables_name_may_be_in_the_home_of_a_user(tmp_path, monkeypatch, name):
    """Files for services and Compose pass `~` as it is; an unknown user is told by the variable."""
    monkeypatch.setenv("HOME", str(tmp_path))
    toml(tmp_path, "port = 1", "one")

    assert load_settings({}, {name: "~/one"}).model_fields_set

    assert (
        f"{name} is in the home of an unknown user"
        in refused(environ={name: "~no-such-user/one"}).message
    )


def test_a_secret_file_that_is_not_there_is_told_by_its_variable(tmp_path):
    """A missing secret file is told by the variable that names it, not by its path."""
    error = refused(environ={"SIDECYPHER_NEO4J_PASSWORD_FILE": str(tmp_path / "none")})

    assert "SIDECYPHER_NEO4J_PASSWORD_FILE cannot be read" in error.message
    assert str(tmp_path) not in error.message


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("one", ["one"]),
        ("one,two", ["one", "two"]),
        (" one , two ,", ["one", "two"]),
    ],
)
def test_a_list_of_folders_is_split_at_commas(text, names):
    """`SIDECYPHER_PROCEDURES` holds folders with commas between them."""
    settings = load_settings({}, {"SIDECYPHER_PROCEDURES": text})

    assert settings.procedures == tuple(Path(name).absolute() for name in names)


def test_a_list_of_folders_may_be_a_toml_list(tmp_path):
    """In the file, folders may be a list."""
    config = toml(tmp_path, 'procedures = ["/one", "/two"]')

    assert load_settings({}, {}, config).procedures == (Path("/one"), Path("/two"))


def test_paths_become_absolute(tmp_path, monkeypatch):
    """Relative paths and `~` are resolved once, where the command starts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")

    settings = load_settings({"home": "state", "cache_dir": "~/cache", "procedures": ["mine"]}, {})

    assert settings.home == tmp_path / "state"
    assert settings.cache_dir == Path("/home/ann/cache")
    assert settings.procedures == (tmp_path / "mine",)
    assert settings.run_folder == tmp_path / "state" / "run"
    assert settings.log_dir == tmp_path / "state" / "logs"


@pytest.mark.parametrize("home", ["", "."])
def test_the_home_is_not_the_current_folder(home):
    """An unset variable in `--home "$STATE"` does not close this folder to other users."""
    assert "current folder" in refused({"home": home}).message


@pytest.mark.parametrize("name", ["home", "cache_dir"])
@pytest.mark.parametrize("path", ["/srv/a:b", "/srv/a\nb"])
def test_a_class_path_is_not_split(name, path):
    """Java would look for jars in two folders, and find Neo4j in neither."""
    assert "colon" in refused({name: path}).message


def test_a_child_process_gets_the_same_settings(tmp_path):
    """`environment()` gives a child the settings it was made from, but those with passwords."""
    settings = load_settings(
        {
            "home": tmp_path / "home",
            "cache_dir": tmp_path / "cache",
            "procedures": [tmp_path / "a", tmp_path / "b"],
            "port": 1,
            "log_level": "DEBUG",
            "log_format": "console",
            "shutdown_seconds": 0.5,
            "maven_url": f"https://me:{SECRET}@mirror.example/maven2",
            "neo4j_password": SECRET,
        },
        {},
    )

    environ = settings.environment()

    assert SECRET not in str(environ)
    without = {"neo4j_password": None, "maven_url": ""}
    assert load_settings({}, environ) == settings.model_copy(update=without)


def test_a_child_process_always_gets_the_folders():
    """Home and cache are handed down even when they are the defaults."""
    assert set(Settings().environment()) == {
        *("SIDECYPHER_HOME", "SIDECYPHER_CACHE_DIR", "SIDECYPHER_CONFIG"),
    }


@pytest.mark.parametrize("project", ["port = 7", "port = = 7", "prot = 7"])
def test_a_child_process_reads_no_file(tmp_path, monkeypatch, project):
    """What the folder's file says by then, right or wrong, is not what its parent was given."""
    settings = load_settings({"home": tmp_path}, {}, toml(tmp_path, "sidecars = 2", "other.toml"))
    monkeypatch.chdir(tmp_path)
    toml(tmp_path, project)

    child = load_settings({}, {"SIDECYPHER_CONFIG": "other.toml", **settings.environment()})

    assert child == settings


@pytest.mark.parametrize("name", ["a,b", "a ", ",", "a/b,c/d"])
def test_a_folder_that_no_variable_can_name_is_refused(tmp_path, name):
    """A child would take one folder for two, or for another one."""
    error = refused({"procedures": [tmp_path / name]})

    assert "`procedures`" in error.message
    assert "comma" in error.message


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_variable_is_none(tmp_path, monkeypatch, empty):
    """As for the plugin; so that `HOME=` of a Compose file means no folder of its own."""
    monkeypatch.chdir(tmp_path)
    toml(tmp_path, "port = 7")
    names = [name.upper() for name in Settings.model_fields]
    environ = {f"SIDECYPHER_{name}": empty for name in [*names, "CONFIG", "NEO4J_PASSWORD_FILE"]}

    assert load_settings({}, environ) == Settings(port=7)
    assert "`SIDECYPHER_PROT`" in refused(environ={"SIDECYPHER_PROT": empty}).message


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (f"ann:{SECRET}@maven.example.com", "scheme"),
        (f"https://ann:p/{SECRET}@maven.example.com/x", "port"),
        (f"https://ann:12/{SECRET}@maven.example.com/x", "`%40`"),
        (f"https://ann:12#{SECRET}@maven.example.com/x", "`%40`"),
        (f"https://ann:p@{SECRET}@maven.example.com/x", "`%40`"),
        (f"https://ann:{SECRET}℀@maven.example.com/x", "host"),
        ("https://ann:hun[ter2@maven.example.com/x", "host"),
        ("https://@maven.example.com/x", "no user"),
        ("https:///x", "no host"),
        ("https://maven.example.com/x?a=b", "more than"),
        ("https://maven example.com/x", "space"),
        ("/srv/maven", "scheme"),
    ],
)
def test_what_cannot_be_a_mirror_is_refused(url, problem):
    """By its name and what is wrong, before it is fetched from, and without what was given."""
    error = refused(environ={"SIDECYPHER_MAVEN_URL": url})

    assert "`maven_url`" in error.message
    assert problem in error.message
    assert "hun" not in error.message + error.hint


def test_settings_do_not_change():
    """Settings are read once; nothing changes them later."""
    with pytest.raises(ValueError, match="frozen"):
        Settings().port = 5


def test_without_an_environment_the_process_has_its_own(monkeypatch, tmp_path):
    """The variables of the process are read when no others are given."""
    for name in [name for name in os.environ if name.startswith("SIDECYPHER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SIDECYPHER_HOME", str(tmp_path))

    assert load_settings({}).home == tmp_path


def test_what_was_given_reaches_a_child_also_when_it_equals_the_default(tmp_path):
    """A flag that says what the default says still beats the variable that the child inherits."""
    environ = {"SIDECYPHER_LANE": "current", "SIDECYPHER_HOME": str(tmp_path)}
    settings = load_settings({"lane": "lts"}, environ)

    assert settings.lane == "lts"
    assert load_settings({}, {**environ, **settings.environment()}).lane == "lts"


def test_the_file_of_the_current_folder_is_read_when_none_is_named(tmp_path, monkeypatch):
    """`sidecypher.toml` makes a folder a project; a file that is named takes its place."""
    monkeypatch.chdir(tmp_path)
    toml(tmp_path, 'port = 1\nprocedures = ["kg"]')
    other = toml(tmp_path, "port = 2", "other.toml")

    assert load_settings({}, {}).port == 1
    assert load_settings({}, {}).procedures == (tmp_path / "kg",)
    assert load_settings({}, {}, other).port == 2
    assert load_settings({}, {"SIDECYPHER_CONFIG": str(other)}).procedures == ()


def test_each_setting_tells_where_it_comes_from(tmp_path):
    """The source of a setting is the one whose value holds."""
    config = toml(tmp_path, "port = 1\nhttp_port = 1\nbolt_port = 1\n")
    environ = {"SIDECYPHER_PORT": "2", "SIDECYPHER_HTTP_PORT": "2"}

    settings, origins = read_settings({"port": 3, "lane": None}, environ, config)

    assert settings == load_settings({"port": 3, "lane": None}, environ, config)
    assert list(origins) == list(Settings.model_fields)
    assert (origins["port"], origins["http_port"], origins["bolt_port"], origins["lane"]) == (
        *("option", "environment", "file", "default"),
    )


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("SIDECYPHER_PROT", "SIDECYPHER_PORT"),
        ("SIDECYPHER_PROCEDURE", "SIDECYPHER_PROCEDURES"),
        ("SIDECYPHER_POOLSIZE", "SIDECYPHER_POOL_SIZE"),
    ],
)
def test_a_misspelt_variable_is_told_what_was_meant(wrong, meant):
    """The nearest variable there is stands in the hint."""
    assert f"Did you mean `{meant}`?" in refused(environ={wrong: "1"}).hint


def test_a_misspelt_name_in_the_file_is_told_what_was_meant(tmp_path):
    """The nearest setting there is stands in the hint; where none is near, none is."""
    assert "Did you mean `log_level`?" in refused(config=toml(tmp_path, "loglevel = 1")).hint
    assert "Did you mean" not in refused(config=toml(tmp_path, "wings = 1")).hint
