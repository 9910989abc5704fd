from __future__ import annotations


class Mailer:
    def __init__(self, sender: str) -> None:
        self.sender = sender
        self.sent: list[str] = []

    def send(self, to: str, text: str) -> None:
        self.sent.append(f"{self.sender} to {to}: {text}")


class Templates:
    def render(self, template: str, **values: str) -> str:
        return template.format(**values)


class Welcome:
    def __init__(self, mailer: Mailer, templates: Templates | None = None) -> None:
        self.mailer = mailer
        self.templates = templates or Templates()

    def greet(self, to: str) -> None:
        self.mailer.send(to, self.templates.render("Welcome {name}", name=to))


def make_mailer() -> Mailer:
    return Mailer("office")


def greet_everybody(welcome: Welcome, names: list[str]) -> int:
    for name in names:
        welcome.greet(name)
    return len(welcome.mailer.sent)


print(greet_everybody(Welcome(make_mailer()), ["Ann", "Ben"]))
