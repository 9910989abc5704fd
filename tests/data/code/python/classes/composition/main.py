class Engine:
    def __init__(self, power):
        self.power = power
        self.running = False

    def start(self):
        self.running = True

    def stop(self):
        self.running = False


class Radio:
    def play(self, station):
        return f"playing {station}"


class Car:
    def __init__(self):
        self.engine = Engine(90)
        self.radio = Radio()

    def drive(self):
        self.engine.start()
        return self.radio.play("News")

    def park(self):
        self.engine.stop()


car = Car()
car.drive()
car.engine.stop()
car.park()
