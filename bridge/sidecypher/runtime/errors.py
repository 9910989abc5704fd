"""The errors of the embedded runtime: Java, jars, ports and processes."""

from sidecypher.errors import SidecypherError


class RuntimeFailure(SidecypherError):
    """The embedded Neo4j, or a process next to it, cannot be started."""


class JavaNotFound(RuntimeFailure):
    """No Java was found on this machine."""

    code = "SC-301"


class WrongJava(RuntimeFailure):
    """Java was found, but no version that this lane runs on."""

    code = "SC-302"


class DownloadFailed(RuntimeFailure):
    """A jar cannot be fetched."""

    code = "SC-303"


class CorruptJar(RuntimeFailure):
    """A mirror sent other bytes than the lock file names."""

    code = "SC-304"
    default_hint = "The mirror serves other bytes than the lock file names; set another mirror."


class PortInUse(RuntimeFailure):
    """Another program listens on a port that was asked for."""

    code = "SC-305"
    default_hint = "Stop the other program, name another port, or name none to get a free one."


class ServerFailed(RuntimeFailure):
    """A process ended or was not ready in time; `details["log_tail"]` has its last log lines."""

    code = "SC-306"


class AlreadyRunning(RuntimeFailure):
    """Another supervisor holds this home."""

    code = "SC-307"
    default_hint = "Use it as it is, or run `sidecypher down` first."


class PluginRefused(RuntimeFailure):
    """Neo4j does not start with a plugin, or does not offer all of its procedures."""

    code = "SC-308"


class NotRunning(RuntimeFailure):
    """A command needs a running Neo4j, and there is none."""

    code = "SC-310"
    default_hint = "Run `sidecypher up`, or set SIDECYPHER_NEO4J_URI."
