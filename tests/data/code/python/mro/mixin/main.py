import json


class JsonMixin:
    def to_json(self):
        return json.dumps(self.to_dict())


class EqualityMixin:
    def same_as(self, other):
        return self.to_dict() == other.to_dict()


class Point(JsonMixin, EqualityMixin):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def to_dict(self):
        return {"x": self.x, "y": self.y}


class City(JsonMixin):
    def __init__(self, name):
        self.name = name

    def to_dict(self):
        return {"name": self.name}


print(Point(1, 2).to_json())
print(City("Bergen").to_json())
print(Point(1, 2).same_as(Point(1, 2)))
