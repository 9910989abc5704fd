package io.sidecypher.core;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The sidecars of the run folder, as it names them now. */
final class Sidecars {
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final Settings settings;
    private final Watchdog watchdog;
    private final FailureCounts failures;
    private final RunFolder folder;
    private volatile List<Link> links = List.of();
    private volatile String problem;
    private volatile long lookedAt;

    Sidecars(Settings settings, Watchdog watchdog, FailureCounts failures) {
        this.settings = settings;
        this.watchdog = watchdog;
        this.failures = failures;
        folder = new RunFolder(settings.runDir());
    }

    /** The ways to them; as long as one of them serves, the folder is looked at now and then only. */
    List<Link> look() {
        boolean justLooked = System.nanoTime() - lookedAt < LOOK_NANOS;
        return justLooked && isAnyUsable() ? links : lookAgain();
    }

    boolean isAnyUsable() {
        for (Link link : links) {
            if (link.isUsable()) {
                return true;
            }
        }
        return false;
    }

    /** Why none of them could be reached. */
    String problem() {
        List<Link> known = links;
        return known.isEmpty() ? problem : known.get(0).problem();
    }

    private synchronized List<Link> lookAgain() {
        try {
            List<Rendezvous> named = folder.changed();
            if (named != null) {
                links = linksTo(named);
            }
        } catch (WireFailure unusable) {
            problem = unusable.getMessage();
            // What serves does not end with a file that cannot be read now; its own end is noticed.
            links = links.stream().filter(link -> link.connected() != null).toList();
        }
        lookedAt = System.nanoTime();
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
                // Who could not be reached before may be why the file has changed.
                known.clear();
                return known;
            }
        }
        return new Link(settings, rendezvous, watchdog, failures);
    }
}
