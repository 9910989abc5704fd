def codec(shift):
    def encode(text):
        return "".join(chr(ord(letter) + shift) for letter in text)

    def decode(text):
        return "".join(chr(ord(letter) - shift) for letter in text)

    return encode, decode


encode, decode = codec(3)
secret = encode("attack")
print(secret, decode(secret))
print(codec(1)[0]("abc"))
