from functools import cached_property

from .repositories import OrderRepository, ProductRepository
from .services import Mailer, OrderService, Reports


class Container:
    def __init__(self):
        self.products = ProductRepository()
        self.orders = OrderRepository()
        self.mailer = Mailer()

    @cached_property
    def order_service(self):
        return OrderService(self.products, self.orders, notify=self.mailer.send)

    @cached_property
    def reports(self):
        return Reports(self.orders)
