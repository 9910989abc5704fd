package io.sidecypher.core;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The current sidecars of the run folder. */
final class Sidecars {
    private static final long REFRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final Settings settings;
    private final Watchdog watchdog;
    private final Counts counts;
    private final RunFolder folder;
    private volatile List<Link> links = List.of();
    private volatile String problem;
    private volatile long refreshedAt;

    Sidecars(Settings settings, Watchdog watchdog, Counts counts) {
        this.settings = settings;
        this.watchdog = watchdog;
        this.counts = counts;
        folder = new RunFolder(settings.runDir());
    }

    /** Returns their links; while one of them is usable, the folder is checked only now and then. */
    List<Link> links() {
        boolean justRefreshed = System.nanoTime() - refreshedAt < REFRESH_NANOS;
        return justRefreshed && isAnyUsable() ? links : refresh();
    }

    boolean isAnyUsable() {
        for (Link link : links) {
            if (link.isUsable()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the reason why none of them could be reached. */
    String problem() {
        List<Link> known = links;
        return known.isEmpty() ? problem : known.get(0).problem();
    }

    private synchronized List<Link> refresh() {
        try {
            List<Rendezvous> named = folder.changed();
            if (named != null) {
                links = linksTo(named);
            }
        } catch (WireFailure unusable) {
            problem = unusable.getMessage();
            // Connected sidecars stay although the file cannot be read; their own end is noticed.
            links = links.stream().filter(link -> link.connected() != null).toList();
        }
        refreshedAt = System.nanoTime();
        return links;
    }

    private List<Link> linksTo(List<Rendezvous> named) {
        List<Link> fresh = new ArrayList<>();
        for (Rendezvous rendezvous : named) {
            fresh.add(linkTo(rendezvous));
        }
        return List.copyOf(fresh);
    }

    private Link linkTo(Rendezvous rendezvous) {
        for (Link known : links) {
            if (known.rendezvous().equals(rendezvous)) {
                // The file may have changed because this sidecar can be reached again.
                known.clear();
                return known;
            }
        }
        return new Link(settings, rendezvous, watchdog, counts);
    }
}
