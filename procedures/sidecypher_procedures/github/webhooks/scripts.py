"""Lua scripts of the queue in Redis. Each runs as one step, so sidecars cannot come between.

`repositories` are those with deliveries, by the time in milliseconds at which a sidecar may take
one: when one is due, or when a claim ends. `of:REPOSITORY` are the ids of its deliveries in order,
`delivery:ID` is one of them, and `claims` are the tokens of sidecars by repository.
"""

from typing import Final

_COMMON: Final = """
local prefix = KEYS[1]
local repositories, claims, bytes = prefix .. 'repositories', prefix .. 'claims', prefix .. 'bytes'
local function list(repository) return prefix .. 'of:' .. repository end
local function hash(id) return prefix .. 'delivery:' .. id end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- The first delivery that is due, else the time at which one is.
local function first(repository)
    local soonest
    for _, id in ipairs(redis.call('LRANGE', list(repository), 0, 99)) do
        local due = tonumber(redis.call('HGET', hash(id), 'due'))
        -- A server that ran out of memory may have dropped it.
        if not due then redis.call('LREM', list(repository), 1, id)
        elseif due <= now then return id, due
        elseif not soonest or due < soonest then soonest = due end
    end
    return nil, soonest
end
"""

PUT: Final = (
    _COMMON
    + """
local repository, id, event, payload, received_at, most = unpack(ARGV)
if redis.call('EXISTS', hash(id)) == 1 then return 1 end
if tonumber(redis.call('GET', bytes) or 0) + #payload > tonumber(most) then return 0 end
redis.call('HSET', hash(id), 'event', event, 'payload', payload, 'received_at', received_at,
    'failures', 0, 'due', 0)
redis.call('INCRBY', bytes, #payload)
redis.call('RPUSH', list(repository), id)
if redis.call('HEXISTS', claims, repository) == 0 then
    redis.call('ZADD', repositories, now, repository)
end
return 1
"""
)
"""Store a delivery; return 0 if there is no room."""

TAKE: Final = (
    _COMMON
    + """
local token, claim = ARGV[1], tonumber(ARGV[2])
for _ = 1, 100 do
    local repository = redis.call('ZRANGEBYSCORE', repositories, '-inf', now, 'LIMIT', 0, 1)[1]
    if not repository then return false end
    local id, due = first(repository)
    if id then
        redis.call('ZADD', repositories, now + claim, repository)
        redis.call('HSET', claims, repository, token)
        return {id, repository, unpack(redis.call('HMGET', hash(id),
            'payload', 'event', 'received_at', 'failures', 'failed_at'))}
    end
    redis.call('HDEL', claims, repository)
    if due then redis.call('ZADD', repositories, due, repository)
    else redis.call('ZREM', repositories, repository) end
end
return false
"""
)
"""Claim a repository that nobody has claimed, and return its first delivery that is due."""

REMOVE: Final = (
    _COMMON
    + """
local repository, id = unpack(ARGV)
if redis.call('LREM', list(repository), 1, id) == 1 then
    redis.call('DECRBY', bytes, redis.call('HSTRLEN', hash(id), 'payload'))
    redis.call('DEL', hash(id))
end
"""
)

PUT_OFF: Final = (
    _COMMON
    + """
local repository, id, pause = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('EXISTS', hash(id)) == 0 then return end
redis.call('HINCRBY', hash(id), 'failures', 1)
redis.call('HSETNX', hash(id), 'failed_at', now)
if pause > 0 and redis.call('LREM', list(repository), 1, id) == 1 then
    redis.call('RPUSH', list(repository), id)
    redis.call('HSET', hash(id), 'due', now + pause)
end
"""
)

RELEASE: Final = (
    _COMMON
    + """
local token, repository, longest = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('HGET', claims, repository) ~= token then return end
redis.call('HDEL', claims, repository)
local id, due = first(repository)
if not due then redis.call('ZREM', repositories, repository)
-- The clock of Redis may be set back.
else redis.call('ZADD', repositories, id and now or math.min(due, now + longest), repository) end
"""
)
"""End a claim; its repository may be taken when a delivery of it is due."""

KEEP: Final = (
    _COMMON
    + """
local token, claim = ARGV[1], tonumber(ARGV[2])
for i = 3, #ARGV do
    if redis.call('HGET', claims, ARGV[i]) == token then
        redis.call('ZADD', repositories, now + claim, ARGV[i])
    end
end
"""
)
