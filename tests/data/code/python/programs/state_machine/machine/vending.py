from .core import Machine
from .hooks import count_visits


class VendingMachine(Machine):
    initial = "idle"

    def __init__(self, prices):
        self.prices = prices
        self.credit = 0
        self.shelf = []
        self.visits = []
        super().__init__()

    def configure(self):
        self.allow("coin", "idle", "paying", self.insert)
        self.allow("coin", "paying", "paying", self.insert)
        self.allow("select", "paying", "serving", self.serve, guard=self.affordable)
        self.allow("select", "idle", "idle", lambda product: self.show_price(product))
        self.allow("take", "serving", "idle", self.give)
        self.allow("refund", "paying", "idle", self.refund)

    def insert(self, cents):
        self.credit += cents

    def affordable(self, product):
        return self.credit >= self.price(product)

    def price(self, product):
        return self.prices[product]

    def serve(self, product):
        self.credit -= self.price(product)
        self.shelf.append(product)

    def on_enter_serving(self):
        self.show("please take")

    def show(self, text):
        print("*", text)

    def give(self):
        change = self.refund()
        return self.shelf.pop(), change

    def refund(self):
        change, self.credit = self.credit, 0
        return change

    def show_price(self, product):
        self.show(f"{product} costs {self.price(product)}")

    def leave(self, state):
        super().leave(state)
        self.visits.append(state)

    def trace_of(self, state):
        return count_visits(self.visits, matches=lambda visit: visit == state)
