class Printer:
    def __init__(self):
        self.pages = 0

    def print_page(self, text):
        self.pages += 1
        return text


def count_words(printer):
    original = printer.print_page

    def counting(text):
        note(len(text.split()))
        return original(text)

    printer.print_page = counting


def note(words):
    print(words, "words")


printer = Printer()
count_words(printer)
print(printer.print_page("one two"), printer.pages)
