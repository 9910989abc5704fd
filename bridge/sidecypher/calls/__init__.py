"""The one path of a call: admitted, run, answered page by page, ended by its deadline.

Enters: what starts, runs or ends a call, whatever transport it came by.
"""
