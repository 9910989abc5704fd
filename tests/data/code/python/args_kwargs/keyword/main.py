def fetch(address, on_success, on_failure):
    if address.startswith("https:"):
        return on_success(address)
    return on_failure(address)


def accept(address):
    return "accepted " + address


def refuse(address):
    return "refused " + address


def visit(address):
    return fetch(on_failure=refuse, on_success=accept, address=address)


print(visit("https://example.org"))
print(visit("ftp://example.org"))
