class UnknownPlugin(Exception):
    def __init__(self, name):
        super().__init__(name)
        self.name = name

    def message(self):
        return f"no plugin {self.name}, there are {', '.join(filters.names())}"


class Registry:
    def __init__(self):
        self._plugins = {}

    def register(self, name):
        def decorate(plugin):
            self[name] = plugin
            return plugin

        return decorate

    def __setitem__(self, name, plugin):
        self._plugins[name] = plugin

    def __getitem__(self, name):
        if name not in self._plugins:
            raise UnknownPlugin(name)
        return self._plugins[name]

    def names(self):
        return sorted(self._plugins)


filters = Registry()
exporters = Registry()


def create_exporter(name):
    exporter_class = exporters[name]
    return exporter_class()
