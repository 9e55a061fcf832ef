/**
 * Grants tokens of buckets that several processes share, in one round trip. The clock is that of Redis.
 *
 * A process whose calls still wait gets a time to ask again. These times are as far apart as a bucket takes to fill, so
 * processes take turns, each finds a portion of tokens, and none flows over.
 *
 *   - KEYS[1]: the buckets, a hash of `tokens:time:next`. The bucket of all calls is the field ''. `next` is the last
 *     time that was given to a process.
 *   - KEYS[2]: the processes, a hash of `waiting:time`.
 *   - ARGV[1], ARGV[2]: this process, and how many of its calls wait.
 *   - ARGV[3]: 1 if it has no time to ask again yet.
 *   - ARGV[4]: how many buckets follow. Each is its field, its tokens a second (0: no limit) and its capacity. The
 *     first is that of all calls.
 *   - Then for each call, the most urgent first, the number of its other bucket.
 *
 * It returns a text with 1 for each call that may begin and else 0, after how many milliseconds to ask again, how many
 * processes have asked lately, and how many calls wait in the others.
 */
export const leaseScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local buckets = {}
local count = tonumber(ARGV[4])
for number = 1, count do
  local at = 5 + (number - 1) * 3
  local rate, capacity = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local bucket = { field = ARGV[at], rate = rate, capacity = capacity, tokens = capacity, next = 0 }
  local stored = rate > 0 and redis.call('HGET', KEYS[1], bucket.field)
  if stored then
    local tokens, since, next = string.match(stored, '^(.*):(.*):(.*)$')
    local elapsed = math.max(0, now - tonumber(since))
    bucket.next = tonumber(next)
    bucket.tokens = math.min(capacity, tonumber(tokens) + elapsed * rate / 1000)
  end
  buckets[number] = bucket
end
local function missing(bucket)
  if bucket.rate <= 0 or bucket.tokens >= 0.999999 then return 0 end
  return (1 - bucket.tokens) / bucket.rate * 1000
end
local granted, given, wait, short = {}, 0, nil, nil
for at = 5 + count * 3, #ARGV do
  local all, own = buckets[1], buckets[tonumber(ARGV[at]) + 1]
  local ms = math.max(missing(all), missing(own))
  if ms == 0 then
    all.tokens = all.tokens - 1
    own.tokens = own.tokens - 1
    given = given + 1
    granted[#granted + 1] = '1'
    if not wait then short = own.rate > 0 and own or all end
  else
    if not wait then short = missing(own) > missing(all) and own or all end
    wait = math.min(wait or ms, ms)
    granted[#granted + 1] = '0'
  end
end
wait = wait or 0
if ARGV[3] == '1' and given < tonumber(ARGV[2]) and short and short.rate > 0 then
  local fill = math.floor(short.capacity) / short.rate * 1000
  short.next = math.min(math.max(now, short.next) + fill, now + math.max(1000, 2 * fill))
  wait = math.max(wait, short.next - now)
end
for _, bucket in ipairs(buckets) do
  if bucket.rate > 0 then
    redis.call('HSET', KEYS[1], bucket.field, string.format('%.6f:%.3f:%.3f', bucket.tokens, now, bucket.next))
  end
end
redis.call('HSET', KEYS[2], ARGV[1], string.format('%d:%.0f', ARGV[2], now))
local active, waiting = 0, 0
local processes = redis.call('HGETALL', KEYS[2])
for at = 1, #processes, 2 do
  local waits, since = string.match(processes[at + 1], '^(.*):(.*)$')
  local age = now - tonumber(since)
  if age > 60000 then
    redis.call('HDEL', KEYS[2], processes[at])
  elseif age <= 2000 then
    active = active + 1
    if processes[at] ~= ARGV[1] then waiting = waiting + tonumber(waits) end
  end
end
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('PEXPIRE', KEYS[2], 60000)
return { table.concat(granted), math.ceil(wait), active, waiting }
`;
