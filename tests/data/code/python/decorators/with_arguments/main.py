def repeat(times):
    def decorate(function):
        def repeated(*args):
            result = None
            for _ in range(times):
                result = function(*args)
            return result

        return repeated

    return decorate


@repeat(3)
def shout(word):
    print(word.upper())
    return word


def party():
    return shout("cheers")


party()
