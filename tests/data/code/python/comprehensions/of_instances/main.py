class Player:
    def __init__(self, name):
        self.name = name
        self.points = 0

    def score(self, points):
        self.points += points
        return self

    def best_of(self, throws):
        return max(self.rate(throw) for throw in throws)

    def rate(self, throw):
        return throw * 10


players = [Player(name) for name in ("Kim", "Lee")]
by_name = {player.name: player.score(5) for player in players}
by_name["Kim"].score(2)
print([player.points for player in by_name.values()], players[1].best_of([1, 2]))
