"""What can go wrong between a catalogue and its plugin jar."""

from sidecypher.errors import SidecypherError


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
        "`sidecypher doctor` shows which compiler is used. Repair that JDK, or point JAVA_HOME or "
        "the PATH to another one, 17 or newer."
    )
