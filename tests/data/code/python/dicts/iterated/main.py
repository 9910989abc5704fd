def check_name(person):
    return bool(person["name"])


def check_age(person):
    return person["age"] >= 0


def trim(person):
    person["name"] = person["name"].strip()


def announce(person):
    print("checked", person["name"])


CHECKS = {"name": check_name, "age": check_age}
HOOKS = {"before": trim, "after": announce}


def problems(person):
    return [name for name, check in CHECKS.items() if not check(person)]


def process(person):
    for hook in HOOKS.values():
        hook(person)
    return problems(person)


print(process({"name": " Ida ", "age": -1}))
