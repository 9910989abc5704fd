def bold(function):
    def make_bold(text):
        return "<b>" + function(text) + "</b>"

    return make_bold


def italic(function):
    def make_italic(text):
        return "<i>" + function(text) + "</i>"

    return make_italic


@bold
@italic
def clean(text):
    return text.strip()


print(clean(" hi "))
