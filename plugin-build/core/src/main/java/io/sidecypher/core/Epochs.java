package io.sidecypher.core;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * The epochs of a run folder: numbers in shared memory, which sidecars replace when rows become void.
 * The layout of the file is in {@code sidecypher/host/epochs.py}.
 */
final class Epochs {
    static final String FILE = "epochs";
    static final int COUNT = 4096;

    private static final long MAGIC = 0x3148434f50454353L; // "SCEPOCH1"
    private static final int FIRST = 8;
    private static final int BYTES = Long.BYTES * (FIRST + COUNT);
    private static final VarHandle NUMBERS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final ByteBuffer memory;
    private final Object file;
    private final String identity;

    /**
     * @param file identifies the file without its name
     */
    private Epochs(ByteBuffer memory, Object file) {
        this.memory = memory;
        this.file = file;
        identity = String.format("%016x", number(1));
    }

    /** Maps the file of a run folder; returns null if there is none that can be used. */
    static Epochs open(Path runDir) {
        Path path = runDir.resolve(FILE);
        Object file = fileKey(runDir);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            if (file == null) {
                return null;
            }
            Epochs epochs = new Epochs(channel.map(FileChannel.MapMode.READ_ONLY, 0, BYTES), file);
            return epochs.number(0) == MAGIC ? epochs : null;
        } catch (IOException | UnsupportedOperationException unusable) {
            return null;
        }
    }

    String identity() {
        return identity;
    }

    /** Returns the epoch at a place, from 0 to {@link #COUNT} - 1. */
    long at(int place) {
        return number(FIRST + place);
    }

    /** Returns whether the run folder still has this very file. */
    boolean isCurrent(Path runDir) {
        return file.equals(fileKey(runDir));
    }

    private long number(int index) {
        return (long) NUMBERS.getVolatile(memory, index * Long.BYTES);
    }

    /** Returns what identifies the file; null if it is missing, or too short to be read in memory. */
    private static Object fileKey(Path runDir) {
        try {
            BasicFileAttributes facts = Files.readAttributes(runDir.resolve(FILE), BasicFileAttributes.class);
            return facts.size() < BYTES ? null : facts.fileKey();
        } catch (IOException missing) {
            return null;
        }
    }
}
