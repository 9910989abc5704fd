"""Cypher values as JSON and back, without loss; no other package knows the tags.

JSON carries null, booleans, strings, lists, maps and numbers (an integer has no point, a float
always has one). The rest is a map with one key that starts with ``$``::

    {"$float": "NaN"}            NaN, Infinity, -Infinity
    {"$bytes": "AP8="}           BYTES, in base 64
    {"$date": "2024-02-29"}      DATE
    {"$localtime": "..."}        LOCAL TIME, nanoseconds, as ISO 8601 writes it
    {"$time": "...+01:00"}       ZONED TIME
    {"$localdatetime": "..."}    LOCAL DATETIME
    {"$datetime": "...+01:00[Europe/Berlin]"}    ZONED DATETIME with its zone id, if it has one
    {"$duration": [1, 2, 3, 4]}  DURATION: months, days, seconds, nanoseconds
    {"$point": [4326, 1.0, 2.0]} POINT: srid, x, y and perhaps z
    {"$node": [id, [labels], {properties}]}      NODE
    {"$relationship": [id, type, start, end, {properties}]}    RELATIONSHIP
    {"$path": [[nodes], [relationships]]}        PATH, of arrays as the two above have
    {"$map": {...}}              an author's own map that has one key starting with `$`

A coder is built once per type, when a procedure is registered, and then called for each value.
"""
