"""`python -m sidecypher_procedures.code.trace`: run a program and compare its calls."""

from sidecypher_procedures.code.trace.commands import main

if __name__ == "__main__":
    main()
