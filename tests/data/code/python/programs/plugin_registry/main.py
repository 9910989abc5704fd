"""Converts notes with plugins that register themselves on import."""

import converter
from converter import registry
from converter.pipeline import Pipeline
from converter.settings import load_settings

NOTES = """
# Shopping
* milk
* a *very* ripe melon
Call 555-123 before noon.
"""


def convert(settings):
    pipeline = Pipeline.from_names(settings["plugins"])
    exporter = registry.create_exporter(settings["exporter"])
    return exporter.export(pipeline(NOTES))


def main():
    converter.load_plugins("markup", "privacy", "exporters")
    for overrides in ({}, {"exporter": "text", "plugins": ["mask", "shout"]}):
        settings = load_settings(**overrides)
        print(convert(settings))
    try:
        convert(load_settings(plugins=["missing"]))
    except registry.UnknownPlugin as error:
        print(error.message())


if __name__ == "__main__":
    main()
