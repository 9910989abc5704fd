"""The driver, without a fault of it that tests with many threads would meet now and then."""

from neo4j._sync.work.transaction import TransactionBase

_rollback = TransactionBase._rollback


def pytest_configure():
    """Let a transaction that has failed leave its connection alone.

    It gives the connection back to the pool as soon as it has failed, and looks at it again when it
    is closed (6.4.1). By then another thread may use it, whose answers this one would take.
    """

    def rollback(self):
        if self._last_error is None:
            _rollback(self)
        else:
            self._closed_flag = True
            self._on_closed()

    TransactionBase._rollback = rollback
