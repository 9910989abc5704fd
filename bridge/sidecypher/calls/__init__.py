"""The path of a call: admission, execution, replies page by page, and its end.

Enters: code that starts, runs or ends a call, for every transport.
"""
