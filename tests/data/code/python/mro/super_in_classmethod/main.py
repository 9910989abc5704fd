class Model:
    fields = ()

    @classmethod
    def create(cls, **values):
        model = cls()
        for name in cls.fields:
            setattr(model, name, cls.convert(values[name]))
        return model

    @classmethod
    def convert(cls, value):
        return value


class Article(Model):
    fields = ("title", "body")

    @classmethod
    def create(cls, **values):
        values.setdefault("body", "")
        return super().create(**values)

    @classmethod
    def convert(cls, value):
        return value.strip()


article = Article.create(title=" Hello ")
print(article.title)
