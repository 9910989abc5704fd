def ruffle():
    return " *ruffle*"
