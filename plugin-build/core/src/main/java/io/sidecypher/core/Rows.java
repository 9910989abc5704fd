package io.sidecypher.core;

import java.util.Iterator;
import java.util.Spliterator;
import java.util.function.Consumer;
import java.util.function.Function;

/** The rows of one call: those of its first page, then those of further pages as they are read. */
final class Rows<R> implements Spliterator<R> {
    private final Pages pages;
    private final Function<Object[], R> makeRow;
    private Iterator<Object[]> page;

    Rows(Pages pages, Iterator<Object[]> first, Function<Object[], R> makeRow) {
        this.pages = pages;
        this.makeRow = makeRow;
        page = first;
    }

    @Override
    public boolean tryAdvance(Consumer<? super R> action) {
        while (!page.hasNext()) {
            if (!pages.hasNext()) {
                return false;
            }
            page = pages.next();
        }
        action.accept(makeRow.apply(page.next()));
        return true;
    }

    @Override
    public Spliterator<R> trySplit() {
        return null;
    }

    @Override
    public long estimateSize() {
        return Long.MAX_VALUE;
    }

    @Override
    public int characteristics() {
        return ORDERED;
    }
}
