package io.sidecypher.core;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.List;

/** The sidecars of the run folder; the file is read again only if it has changed. */
final class RunFolder {
    /** Identifies a version of the file without reading it. */
    private record Stamp(Object file, FileTime written, long size) {}

    private final Path folder;
    private Stamp read;

    RunFolder(Path folder) {
        this.folder = folder;
    }

    /**
     * Returns the sidecars, or null if the file has not changed since it was read.
     *
     * @throws WireFailure if there is no usable file; it is then read again the next time
     */
    List<Rendezvous> changed() {
        // Before the read: a file that is replaced while it is read counts as changed the next time.
        Stamp stamp = stamp();
        if (stamp != null && stamp.equals(read)) {
            return null;
        }
        read = null;
        List<Rendezvous> found = Rendezvous.read(folder);
        read = stamp;
        return found;
    }

    private Stamp stamp() {
        if (folder == null) {
            return null;
        }
        try {
            BasicFileAttributes facts =
                    Files.readAttributes(folder.resolve(Rendezvous.FILE), BasicFileAttributes.class);
            return new Stamp(facts.fileKey(), facts.lastModifiedTime(), facts.size());
        } catch (IOException missing) {
            return null;
        }
    }
}
