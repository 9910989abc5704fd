"""Fixtures that all folders share, one file per concern."""

pytest_plugins = [
    "fix_waiting",
    "fix_jars",
    "fix_server",
    "fix_proxy",
    "fix_evidence",
    "fix_effort",
    "fix_groups",
    "fix_sidecars",
    "fix_collector",
    "fix_serving",
    "fix_workers",
    "fix_usage",
]
