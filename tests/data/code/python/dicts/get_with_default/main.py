def render_text(value):
    return str(value)


def render_number(value):
    return f"{value:.2f}"


def render_unknown(value):
    return f"<{type(value).__name__}>"


RENDERERS = {str: render_text, float: render_number}


def render(value):
    renderer = RENDERERS.get(type(value), render_unknown)
    return renderer(value)


for value in ["a", 1.5, None]:
    print(render(value))
