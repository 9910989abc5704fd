import importlib


def load_plugins(*names):
    return [load_plugin(name) for name in names]


def load_plugin(name):
    return importlib.import_module(f"converter.plugins.{name}")
