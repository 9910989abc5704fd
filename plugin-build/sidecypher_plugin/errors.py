"""Errors of building a plugin jar."""

from sidecypher.errors import SidecypherError


class PluginBuildError(SidecypherError):
    """The plugin was not built; an existing jar stays as it was.

    If the compiler refused the sources, `details` holds its output as ``compiler``.
    """

    code = "SC-401"


class UnfitProcedure(PluginBuildError):
    """An entry of the catalogue has a name that is not allowed in Java."""

    code = "SC-402"


class CoreJarMissing(PluginBuildError):
    """The Java core, which is part of every plugin, was not built yet."""

    code = "SC-403"
    default_hint = "Run `make core`."


class CompilerMissing(PluginBuildError):
    """The Java compiler cannot be run."""

    code = "SC-404"
    default_hint = (
        "`sidecypher doctor` shows which compiler is used. Repair that JDK, or point JAVA_HOME or "
        "the PATH to another one, 17 or newer."
    )
