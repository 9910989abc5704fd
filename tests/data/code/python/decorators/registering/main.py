COMMANDS = {}


def command(name):
    def register(function):
        COMMANDS[name] = function
        return function

    return register


@command("start")
def start_server():
    return "started"


@command("stop")
def stop_server():
    return "stopped"


def execute(line):
    return COMMANDS[line.strip()]()


def main():
    for line in ["start", "stop\n"]:
        print(execute(line))
    return start_server()


main()
