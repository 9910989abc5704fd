class Tag:
    def __init__(self, output, name):
        self.output = output
        self.name = name

    def __enter__(self):
        self.output.write(f"<{self.name}>")

    def __exit__(self, *error):
        self.output.write(f"</{self.name}>")


class Output:
    def __init__(self):
        self.parts = []

    def write(self, text):
        self.parts.append(text)

    def tag(self, name):
        return Tag(self, name)


def page(title):
    output = Output()
    with output.tag("html"), output.tag("body"):
        with Tag(output, "h1"):
            output.write(title)
    return "".join(output.parts)


print(page("Hi"))
