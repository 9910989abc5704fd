def valid(row):
    return len(row) == 2


def cells(row):
    return list(row)


def number(cell):
    return int(cell)


def matrix(rows):
    return [[number(cell) for cell in cells(row)] for row in rows if valid(row)]


def lazily(rows):
    return (number(cell) for row in rows for cell in cells(row))


print(matrix(["12", "3", "45"]))
print(sum(lazily(["12", "3"])))
