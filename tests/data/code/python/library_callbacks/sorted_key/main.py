from operator import itemgetter


def by_surname(name):
    return surname(name).lower()


def surname(name):
    return name.split()[-1]


def ranked(results):
    return sorted(results, key=lambda result: (-result["points"], result["name"]))


people = ["Ada Lovelace", "Alan Turing", "Edsger Dijkstra"]
people.sort(key=by_surname)
print(people, max(people, key=surname))
print(ranked([{"name": "a", "points": 1}, {"name": "b", "points": 3}]))
print(sorted([("b", 1), ("a", 2)], key=itemgetter(0)))
