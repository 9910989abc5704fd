"""S5: secrets in places that others can read."""


def test_the_tokens_are_nowhere_but_in_their_files(server, session):
    """Neither logs nor arguments of processes hold a token or the password."""
    session.run("CALL test.echo('x')").consume()
    processes = [server.process(name) for name in ("neo4j", "sidecar")]
    shown = server.logs() + " ".join(word for each in processes for word in each.cmdline())
    environments = " ".join(" ".join(each.environ().values()) for each in processes)

    for secret in server.secrets:
        assert secret not in shown
        assert secret not in environments


def test_files_with_secrets_are_for_the_owner_only(server):
    """Run folder 0700, and tokens, key, rendezvous and password 0600."""
    run = server.home / "run"
    files = [run / name for name in ("token", "http-token", "key.pem", "sidecar.json")]
    files.append(server.home / "neo4j-password")

    assert run.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
