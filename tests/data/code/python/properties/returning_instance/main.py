class Address:
    def __init__(self, city):
        self.city = city

    def label(self):
        return self.city.upper()


class Customer:
    def __init__(self, city):
        self._city = city
        self._address = None

    @property
    def address(self):
        if self._address is None:
            self._address = Address(self._city)
        return self._address

    def envelope(self):
        return self.address.label()


print(Customer("Rome").envelope())
print(Customer("Lima").address.label())
