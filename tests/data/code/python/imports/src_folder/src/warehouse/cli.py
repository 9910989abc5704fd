from warehouse import stock
from warehouse.report import render


def run(arguments):
    command, *rest = arguments
    if command == "add":
        name, count = rest
        stock.add(name, int(count))
    else:
        print(render(stock.everything()))
