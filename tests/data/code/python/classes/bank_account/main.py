class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self._log("opened")

    def deposit(self, amount):
        self._check(amount)
        self.balance += amount
        self._log(f"deposit {amount}")

    def withdraw(self, amount):
        self._check(amount)
        if amount > self.balance:
            self._log("refused")
            return False
        self.balance -= amount
        return True

    def _check(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")

    def _log(self, text):
        print(self.owner, text)


account = Account("Ada")
account.deposit(50)
account.withdraw(80)
