DEFAULTS = {"exporter": "html", "plugins": ["headings", "bullets", "emphasis"]}


def load_settings(**overrides):
    settings = {**DEFAULTS, **overrides}
    for name, check in CHECKS.items():
        check(settings[name])
    return settings


def _check_exporter(name):
    if not isinstance(name, str):
        raise _wrong("exporter")


def _check_plugins(names):
    if not names:
        raise _wrong("plugins")


def _wrong(name):
    return ValueError(f"wrong setting {name}")


CHECKS = {"exporter": _check_exporter, "plugins": _check_plugins}
