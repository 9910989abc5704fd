"""What can go wrong between a catalogue and its plugin jar.

::

    SidecypherError
    └── PluginBuildError    SC-401   the plugin was not built; an older one stays as it was
        ├── UnfitProcedure  SC-402   an entry of the catalogue has a name that Java cannot have
        ├── CoreJarMissing  SC-403   the Java core was not built yet
        └── CompilerMissing SC-404   the Java compiler cannot be run
"""

from sidecypher.errors import SidecypherError

__all__ = ["CompilerMissing", "CoreJarMissing", "PluginBuildError", "UnfitProcedure"]


class PluginBuildError(SidecypherError):
    """The plugin was not built; a jar that was there before stays as it was.

    When the compiler refused the sources, `details` holds its output as ``compiler``.
    """

    code = "SC-401"


class UnfitProcedure(PluginBuildError):
    """An entry of the catalogue has a name that Java cannot have."""

    code = "SC-402"


class CoreJarMissing(PluginBuildError):
    """The Java core, which every plugin carries, was not built yet."""

    code = "SC-403"
    default_hint = "Run `make core`."


class CompilerMissing(PluginBuildError):
    """The Java compiler cannot be run."""

    code = "SC-404"
    default_hint = (
        "`sidecypher doctor` tells which compiler is taken. Repair that JDK, or let JAVA_HOME or "
        "the PATH lead to another one, 17 or newer."
    )
