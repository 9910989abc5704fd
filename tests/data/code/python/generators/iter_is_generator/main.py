class Playlist:
    def __init__(self, *songs):
        self.songs = list(songs)

    def __iter__(self):
        for song in self.songs:
            yield self.title(song)

    def title(self, song):
        return song.title()

    def __getitem__(self, index):
        return self.songs[index]

    def __setitem__(self, index, song):
        self.songs[index] = song


playlist = Playlist("yesterday", "imagine")
playlist[1] = "let it be"
print(playlist[0])
for title in playlist:
    print(title)
