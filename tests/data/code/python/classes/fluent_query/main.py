class Query:
    """Methods that return self are chained."""

    default_limit = max([10, 20])

    def __init__(self, table):
        self.table = table
        self.conditions = []
        self.count = self.default_limit

    def where(self, condition):
        self.conditions.append(condition)
        return self

    def limit(self, count):
        self.count = count
        return self

    def sql(self):
        return f"SELECT * FROM {self.table}{self._where()} LIMIT {self.count}"

    def _where(self):
        if not self.conditions:
            return ""
        return " WHERE " + self._joined(" AND ")

    def _joined(self, word):
        return word.join(self.conditions)


def adults():
    return Query("people").where("age > 17")


print(adults().where("city = 'Oslo'").limit(5).sql())
print(Query("cities").sql())
