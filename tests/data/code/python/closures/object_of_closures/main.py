def make_stack(on_push):
    items = []

    def push(item):
        items.append(item)
        on_push(item)

    def pop():
        return items.pop() if not is_empty() else None

    def is_empty():
        return not items

    return {"push": push, "pop": pop}


def log(item):
    print("pushed", item)


stack = make_stack(log)
stack["push"](1)
stack["push"](2)
print(stack["pop"]())
