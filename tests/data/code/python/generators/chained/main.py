def read_lines():
    yield "10"
    yield ""
    yield "32"


def non_empty(lines):
    for line in lines:
        if keep(line):
            yield line


def keep(line):
    return line != ""


def numbers(lines):
    for line in lines:
        yield int(line)


print(sum(numbers(non_empty(read_lines()))))
