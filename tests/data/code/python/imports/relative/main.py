from zoo.birds.parrot import Parrot

polly = Parrot("Polly")
print(polly.speak("hello"))
