"""Fixtures that all folders share, one file per concern."""

import os
import signal
import sys

from hypothesis import HealthCheck, settings

# Time is what other tests leave: none of these is about it. Each run invents other examples.
settings.register_profile(
    "shared cores",
    max_examples=int(os.environ.get("SIDECYPHER_TEST_EXAMPLES", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shared cores")

pytest_plugins = [
    "fix_waiting",
    "fix_logs",
    "fix_commands",
    "fix_jars",
    "fix_driver",
    "fix_external",
    "fix_server",
    "fix_github",
    "fix_app",
    "fix_proxy",
    "fix_evidence",
    "fix_effort",
    "fix_groups",
    "fix_sidecars",
    "fix_collector",
    "fix_serving",
    "fix_npm",
    "fix_graphql",
    "fix_openapi",
    "fix_outside",
    "fix_workers",
    "fix_usage",
    "fix_browser",
    "fix_console",
    "fix_panels",
    "fix_containers",
    "fix_hosts",
    "fix_redis",
    "fix_postgres",
    "fix_wheel",
]


# Each of a thousand Python processes would compile sidecypher and its packages again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_configure():
    """Let tests send Ctrl-C and close terminals, which what runs in a background may ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
