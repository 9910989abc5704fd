def as_csv(rows):
    return "\n".join(",".join(row) for row in rows)


def as_lines(rows):
    return "\n".join(" ".join(row) for row in rows)


def export(rows, formats, wanted):
    if wanted not in formats:
        raise KeyError(wanted)
    return formats[wanted](rows)


def main():
    formats = {"csv": as_csv, "txt": as_lines}
    rows = [("a", "b"), ("c", "d")]
    for wanted in formats:
        print(export(rows, formats, wanted))


main()
