"""S5: secrets in places that others can read."""


def test_the_token_is_nowhere_but_in_its_file(server, session):
    """Neither logs nor arguments of processes hold the token or the password."""
    session.run("CALL test.echo('x')").consume()
    processes = [server.process(name) for name in ("neo4j", "sidecar")]
    shown = server.logs() + " ".join(word for each in processes for word in each.cmdline())
    environments = " ".join(" ".join(each.environ().values()) for each in processes)

    for secret in (server.token, server.password):
        assert secret not in shown
        assert secret not in environments


def test_files_with_secrets_are_for_the_owner_only(server):
    """Run folder 0700, and token, key, rendezvous and password 0600."""
    run = server.home / "run"
    files = [run / name for name in ("token", "key.pem", "sidecar.json")]
    files.append(server.home / "neo4j-password")

    assert run.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
