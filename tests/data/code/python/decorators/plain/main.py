def announce(function):
    def wrapper():
        print("before")
        function()
        print("after")

    return wrapper


@announce
def greet():
    print("hello")


greet()
