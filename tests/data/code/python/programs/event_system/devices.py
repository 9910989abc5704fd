from events import DoorOpened


class Door:
    def __init__(self, name, bus):
        self.name = name
        self.bus = bus

    def open(self):
        self.bus.publish(DoorOpened(self.name))


class Lamp:
    def __init__(self, room):
        self.room = room
        self.lit = False

    def switch_on(self, event=None):
        self._switch(True)

    def switch_off(self, event=None):
        self._switch(False)

    def _switch(self, lit):
        self.lit = lit


class Heating:
    def __init__(self, target):
        self.target = target
        self.running = False

    def adapt(self, event):
        action = self.start if event.degrees < self.target else self.stop
        action()

    def start(self):
        self.running = True

    def stop(self):
        self.running = False


class Alarm:
    def __init__(self, on_alert):
        self.on_alert = on_alert
        self.armed = False

    def arm(self, event):
        self.armed = True

    def door_opened(self, event):
        if self.armed:
            self.on_alert(event.door)
            raise RuntimeError("siren is broken")
