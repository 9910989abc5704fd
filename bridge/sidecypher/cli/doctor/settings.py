"""Settings: names that nothing reads, and values that cannot be used."""

from sidecypher.cli.doctor.findings import Finding, error, ok
from sidecypher.cli.doctor.subject import Subject


def look_at_settings(subject: Subject) -> Finding:
    """Tell every setting that is misspelt or cannot be used; the others count meanwhile."""
    if subject.wrong:
        told = "; ".join(wrong.message for wrong in subject.wrong)
        hints = dict.fromkeys(wrong.hint for wrong in subject.wrong if wrong.hint)
        return error(told, " ".join(hints) or "Correct it.")
    given = sorted(subject.settings.model_fields_set)
    return ok(f"set: {', '.join(given)}" if given else "all have their defaults")
