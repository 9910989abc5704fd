def make_counter():
    count = 0

    def increment():
        nonlocal count
        count += 1
        return count

    return increment


clicks = make_counter()
clicks()
print(clicks())
