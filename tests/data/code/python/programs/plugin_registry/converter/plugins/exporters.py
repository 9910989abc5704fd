from converter import registry


class Exporter:
    def export(self, text):
        return self.before() + text + self.after()

    def before(self):
        return ""

    def after(self):
        return "\n"


@registry.exporters.register("text")
class TextExporter(Exporter):
    pass


@registry.exporters.register("html")
class HtmlExporter(Exporter):
    def __init__(self):
        self.name = "html"

    def before(self):
        return f"<{self.name}>\n"

    def after(self):
        return f"\n</{self.name}>" + super().after()
