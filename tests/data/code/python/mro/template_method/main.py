class Report:
    def build(self):
        return "\n".join([self.header(), *self.rows(), self.footer()])

    def header(self):
        return "Report"

    def rows(self):
        return []

    def footer(self):
        return "-" * 10


class SalesReport(Report):
    def header(self):
        return "Sales"

    def rows(self):
        return [self.row("May", 10), self.row("June", 12)]

    def row(self, month, total):
        return f"{month}: {total}"


print(SalesReport().build())
