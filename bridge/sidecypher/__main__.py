"""`python -m sidecypher` is `sidecypher`."""

from sidecypher.cli import main

main()
