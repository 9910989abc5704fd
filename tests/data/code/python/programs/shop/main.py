"""A shop: entities, repositories, services, and the wiring of them."""

from shop.container import Container
from shop.models import Product
from shop.payment import CardPayment, InvoicePayment
from shop.services import OutOfStock


def fill(container):
    for name, cents, stock in [("tea", 450, 10), ("mug", 900, 1), ("pot", 2500, 2)]:
        container.products.save(Product(name, cents, stock))


def buy(container, customer, wishes, payment):
    service = container.order_service
    try:
        order = service.place(customer, wishes, payment)
    except OutOfStock as problem:
        return problem.advice()
    return order.summary()


def main():
    container = Container()
    fill(container)
    print(buy(container, "Ann", {"tea": 2, "mug": 1}, CardPayment("4000-1234")))
    print(buy(container, "Bob", {"mug": 1}, CardPayment("4000-9999")))
    print(buy(container, "Cleo", {"pot": 2}, InvoicePayment(days=14)))
    print(container.reports.revenue(), container.reports.best_customer())
    print(container.mailer.outbox)


if __name__ == "__main__":
    main()
