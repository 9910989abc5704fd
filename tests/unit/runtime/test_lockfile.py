import msgspec
import pytest

from sidecypher.runtime.lockfile import Lock, load_api_lock, load_compiler_lock, load_lock


@pytest.fixture(name="lock", params=["lts", "current"])
def lock_of_a_lane(request):
    """The lock file of each lane."""
    return load_lock(request.param)


def test_jars_are_sorted_and_unique(lock):
    """Jars stand in order of place and artifact, none twice, none with another's file name."""
    keys = [(jar.place, jar.artifact) for jar in lock.jars]

    assert sorted(set(keys)) == keys
    assert len({jar.file_name for jar in lock.jars}) == len(lock.jars)


def test_every_jar_has_a_hash_and_a_size(lock):
    """A jar is pinned by 64 hex digits of SHA-256 and a size in bytes."""
    for jar in lock.jars:
        assert len(bytes.fromhex(jar.sha256)) == 32
        assert jar.sha256 == jar.sha256.lower()
        assert jar.size > 0


def test_coordinates_name_no_server(lock):
    """The lock names artifacts, never addresses, so any mirror can serve them."""
    assert b"://" not in lock.to_json()
    assert all(2 <= jar.artifact.count(":") <= 3 for jar in lock.jars)


def test_the_lts_lane_has_neo4j_and_apoc():
    """The LTS lane is Neo4j 5.26 with APOC among the plugins, on Java 17 or 21."""
    lock = load_lock("lts")
    placed = {jar.artifact: jar.place for jar in lock.jars}

    assert placed[f"org.neo4j:neo4j:{lock.neo4j}"] == "lib"
    assert placed["org.neo4j.procedure:apoc-core:5.26.19"] == "plugins"
    assert lock.java == (17, 21)


def test_the_current_lane_has_no_plugins():
    """The current lane is Neo4j 2026 on Java 25; Maven Central has no APOC for it."""
    lock = load_lock("current")

    assert f"org.neo4j:neo4j:{lock.neo4j}" in {jar.artifact for jar in lock.jars}
    assert {jar.place for jar in lock.jars} == {"lib"}
    assert lock.java == (25,)


def test_plugins_are_compiled_against_the_lts_lane():
    """The API jars are a few of the LTS lane's, whatever lane the plugin will run in."""
    api = load_api_lock()

    assert set(api.jars) < set(load_lock("lts").jars)
    assert {"neo4j-procedure-api-5.26.29.jar", "neo4j-kernel-api-5.26.29.jar"} < {
        jar.file_name for jar in api.jars
    }


def test_the_compiler_is_a_jar_of_its_own(lock):
    """The compiler for machines without a JDK is one jar, and none of those that a server runs."""
    [compiler] = load_compiler_lock().jars

    assert compiler.artifact.startswith("org.eclipse.jdt:ecj:")
    assert compiler not in lock.jars
    assert {jar.place for jar in lock.jars} <= {"lib", "plugins"}


def test_a_lock_survives_a_round_trip(lock):
    """Parsing what was rendered gives the same lock, and rendering it gives the same bytes."""
    again = Lock.from_json(lock.to_json())

    assert again == lock
    assert again.to_json() == lock.to_json()


def test_an_unknown_field_is_refused(lock):
    """A lock file with a field that this version does not know is not half understood."""
    data = lock.to_json().replace(b'"lane"', b'"later": 1, "lane"')

    with pytest.raises(msgspec.ValidationError, match="later"):
        Lock.from_json(data)


def test_classifiers_are_part_of_name_and_path(lock):
    """A jar for one platform is found by its classifier in any Maven repository."""
    jars = [jar for jar in lock.jars if jar.artifact.endswith(":linux-x86_64")]

    assert all(jar.file_name.endswith("-linux-x86_64.jar") for jar in jars)
    assert any(jar.path.startswith("io/netty/netty-transport-native-epoll/") for jar in jars)
