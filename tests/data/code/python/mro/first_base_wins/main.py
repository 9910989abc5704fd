class Reader:
    def open(self):
        return "open for reading"

    def read(self):
        return "data"


class Writer:
    def open(self):
        return "open for writing"

    def write(self, data):
        return len(data)


class ReadWriter(Reader, Writer):
    pass


class WriteReader(Writer, Reader):
    pass


def use_first():
    file = ReadWriter()
    file.open()
    file.write(file.read())


def use_second():
    file = WriteReader()
    file.open()


use_first()
use_second()
