import config
import plugins.loud
import plugins.quiet


def configure(loud):
    config.speaker = plugins.loud.speak if loud else plugins.quiet.speak


def say(text):
    return config.speaker(text)


print(config.speaker("default"))
configure(True)
print(say("hello"))
configure(False)
print(say("hello"))
