"""A house whose devices talk to each other through a bus of events."""

from bus import EventBus
from devices import Alarm, Door, Heating, Lamp
from events import DoorOpened, NightFell, TemperatureChanged
from journal import Journal


def build_house(bus):
    lamp = Lamp("hall")
    heating = Heating(target=21)
    alarm = Alarm(on_alert=lambda reason: journal_alert(bus, reason))
    bus.subscribe(DoorOpened, lamp.switch_on)
    bus.subscribe(DoorOpened, alarm.door_opened)
    bus.subscribe(TemperatureChanged, heating.adapt)
    bus.subscribe(NightFell, alarm.arm)

    @bus.on(NightFell)
    def darken(event):
        lamp.switch_off(event)

    return {"lamp": lamp, "heating": heating, "alarm": alarm}


def journal_alert(bus, reason):
    bus.journal.write("alert", reason)


def simulate(bus):
    door = Door("front", bus)
    door.open()
    bus.publish(TemperatureChanged(17.5))
    bus.publish(TemperatureChanged(23))
    bus.publish(NightFell())
    door.open()


def main():
    journal = Journal()
    bus = EventBus(journal)
    house = build_house(bus)
    with journal.recording():
        simulate(bus)
    for line in journal:
        print(line)
    print(house["lamp"].lit, house["heating"].running, bus.failures)


main()
