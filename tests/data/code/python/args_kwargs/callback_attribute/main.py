class Button:
    def __init__(self, label, on_click=None):
        self.label = label
        self.on_click = on_click

    def click(self):
        if self.on_click is not None:
            self.on_click(self)


class Window:
    def __init__(self):
        self.closed = False
        self.close_button = Button("Close", on_click=self.close)
        self.help_button = Button("Help")

    def close(self, button):
        self.closed = True


def show_help(button):
    print("help for", button.label)


window = Window()
window.help_button.on_click = show_help
window.help_button.click()
window.close_button.click()
print(window.closed)
