"""Calls of procedures through Cypher."""


class Calls:
    """Calls the procedures of one namespace, in transactions of their own.

    Args:
        namespace: Such as `runs`.
    """

    def __init__(self, session, namespace):
        self.session = session
        self.namespace = namespace

    def call(self, name, *arguments):
        """Call a procedure; return its rows."""
        parameters = {f"a{number}": value for number, value in enumerate(arguments)}
        listed = ", ".join(f"${name}" for name in parameters)
        return self.session.run(f"CALL {self.namespace}.{name}({listed})", parameters).data()

    def one(self, name, *arguments):
        """Call a procedure that gives one row; return it."""
        [row] = self.call(name, *arguments)
        return row
