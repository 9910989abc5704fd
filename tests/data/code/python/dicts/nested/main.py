def list_users():
    return ["ann", "bob"]


def create_user():
    return "created"


def show_status():
    return "ok"


ROUTES = {
    "/users": {"GET": list_users, "POST": create_user},
    "/status": {"GET": show_status},
}


def get_users():
    return ROUTES["/users"]["GET"]()


def request(method, path):
    for known, methods in ROUTES.items():
        if known == path and method in methods:
            return methods[method]()
    return "404"


print(get_users())
print(request("POST", "/users"), request("GET", "/status"), request("GET", "/users"))
