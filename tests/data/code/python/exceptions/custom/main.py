class ValidationError(Exception):
    def __init__(self, field, problem):
        super().__init__(f"{field}: {problem}")
        self.field = field

    def advice(self):
        return f"please correct {self.field}"


def validate(form):
    if not form.get("email"):
        raise ValidationError("email", "is missing")
    return form


def submit(form):
    try:
        save(validate(form))
    except ValidationError as error:
        print(error, error.advice())
    else:
        print("thanks")
    finally:
        finish()


def save(form):
    print("saved", form)


def finish():
    print("done")


submit({})
submit({"email": "a@b.c"})
