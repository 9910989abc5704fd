"""`python -m sidecypher` is `sidecypher`."""

from sidecypher.cli.main import main

main()
