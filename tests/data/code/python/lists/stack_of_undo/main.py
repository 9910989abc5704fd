class Document:
    def __init__(self):
        self.text = ""
        self.undo_stack = []

    def append(self, text):
        before = self.text
        self.text += text
        self.undo_stack.append(lambda: self.restore(before))

    def clear(self):
        before = self.text
        self.text = ""
        self.undo_stack.append(lambda: self.restore(before))

    def restore(self, text):
        self.text = text

    def undo(self):
        self.undo_stack.pop()()


document = Document()
document.append("one")
document.clear()
document.undo()
document.undo()
print(repr(document.text))
