package io.sidecypher.core;

import java.util.Iterator;
import java.util.Spliterators;
import java.util.function.Consumer;
import java.util.function.Function;

/** The rows of one call; pages after the first are fetched while the rows are read. */
final class Rows<R> extends Spliterators.AbstractSpliterator<R> {
    private final Pages pages;
    private final Function<Object[], R> makeRow;
    private Iterator<Object[]> page;

    Rows(Pages pages, Iterator<Object[]> first, Function<Object[], R> makeRow) {
        super(Long.MAX_VALUE, ORDERED);
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
}
