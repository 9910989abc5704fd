"""Lua scripts of the cache in Redis. Each runs as one step, so sidecars cannot come between."""

from typing import Final

# A value of another type is an entry that some other program wrote, and counts as none.
LOOK: Final = """
local marks, stream, token, lock_ms, most = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
local time = redis.call('TIME')
local found = {last and last[1] or '0-0', time[1] * 1000000 + time[2]}
for i = 1, (#KEYS - 2) / 2 do
    local entry, lock = KEYS[2 * i + 1], KEYS[2 * i + 2]
    local holder = false
    if lock_ms ~= '0' then
        redis.call('SET', lock, token, 'NX', 'PX', lock_ms)
        holder = redis.call('GET', lock)
    end
    local value = redis.pcall('GETRANGE', entry, 0, most)
    local fields = redis.call('HMGET', marks, unpack(ARGV, 4 * i, 4 * i + 3))
    found[i + 2] = {type(value) == 'string' and value or '', holder, fields}
end
return found
"""
"""Return entries and the time, and lock the paths that no other sidecar has locked."""

PUT: Final = """
local entry, index, sizes = KEYS[1], KEYS[2], KEYS[3]
local value, ttl, most, overhead = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local size = #value + overhead
local total = tonumber(redis.call('HGET', sizes, '') or 0) + size
total = total - tonumber(redis.call('HGET', sizes, entry) or 0)
-- The time goes before the entry, so that its age is that of the clock of Redis.
value = string.format('%016d', time[1] * 1000000 + time[2]) .. value
redis.call('SET', entry, value, 'PX', ttl)
redis.call('HSET', sizes, entry, size)
redis.call('ZADD', index, now + ttl, entry)
for _ = 1, 100 do
    local first = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
    if not first[1] or (total <= most and tonumber(first[2]) > now) then break end
    total = total - tonumber(redis.call('HGET', sizes, first[1]) or 0)
    redis.call('DEL', first[1])
    redis.call('HDEL', sizes, first[1])
    redis.call('ZREM', index, first[1])
end
redis.call('HSET', sizes, '', total)
"""
"""Store an entry, and drop those that end first while all together are too large."""

RELEASE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""

RENEW: Final = """
for _, lock in ipairs(KEYS) do
    if redis.call('GET', lock) == ARGV[1] then redis.call('PEXPIRE', lock, ARGV[2]) end
end
"""

INVALIDATE: Final = """
local marks, stream = KEYS[1], KEYS[2]
local id = redis.call('XADD', stream, 'MAXLEN', '~', ARGV[1], '*', 'by', ARGV[3], 'path', ARGV[4],
    'below', ARGV[5])
if redis.call('HLEN', marks) >= tonumber(ARGV[2]) then
    redis.call('DEL', marks)
    redis.call('HSET', marks, '', id)
end
redis.call('HSET', marks, ARGV[4], id)
if ARGV[5] == '1' then redis.call('HSET', marks, ARGV[4] .. '/', id) end
return id
"""
"""Mark a path, so that all older entries of it are void, and announce that to all sidecars."""

RESERVE: Final = """
local limits, requests, id, resource = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, stop in ipairs({'stop:', 'stop:' .. resource}) do
    local ends = tonumber(redis.call('HGET', limits, stop) or 0)
    if ends > now then return ends - now end
end
redis.call('ZREMRANGEBYSCORE', requests, '-inf', now)
local told = redis.call('HMGET', limits, 'left:' .. resource, 'reset:' .. resource)
local ends = tonumber(told[2] or 0)
if told[1] and ends > now and told[1] - redis.call('ZCARD', requests) <= 0 then
    return ends - now
end
redis.call('ZADD', requests, now + ARGV[3], id)
redis.call('PEXPIRE', requests, ARGV[3])
return 0
"""
"""Count a request that begins; return the milliseconds of a limit instead if none is left."""

SETTLE: Final = """
local limits, requests, id, resource = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
redis.call('ZREM', requests, id)
local left, reset, stop, lasts = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if left ~= '' then
    local known = redis.call('HMGET', limits, 'left:' .. resource, 'reset:' .. resource)
    local period = tonumber(known[2] or 0)
    if tonumber(reset) > period then
        redis.call('HSET', limits, 'left:' .. resource, left, 'reset:' .. resource, reset)
    elseif tonumber(reset) == period and tonumber(left) < tonumber(known[1]) then
        redis.call('HSET', limits, 'left:' .. resource, left)
    end
end
if lasts ~= '' then
    -- By the clock of Redis, since those of sidecars may differ.
    local time = redis.call('TIME')
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + lasts
    if ends > tonumber(redis.call('HGET', limits, 'stop:' .. stop) or 0) then
        redis.call('HSET', limits, 'stop:' .. stop, ends)
    end
end
redis.call('PEXPIRE', limits, ARGV[7])
"""
"""Count a request that has ended, with the limits that its answer told."""
