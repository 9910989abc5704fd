def flatten(nested):
    flat = []

    def walk(item):
        if isinstance(item, list):
            for part in item:
                walk(part)
        else:
            keep(item)

    def keep(item):
        flat.append(item)

    walk(nested)
    return flat


print(flatten([1, [2, [3]], 4]))
