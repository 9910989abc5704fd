"""Run functions on a Ray cluster.

`cluster` is what the sidecar holds, `driver` the process that speaks to Ray, and `node` what runs
on the cluster's nodes. Ray ends a process that has lost its cluster, so the sidecar itself has no
part in one.
"""
