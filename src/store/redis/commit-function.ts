/** The one write of the library, which says what it may rely on. */
export const commitFunction = String.raw`-- First the place of the writer's mark, the mark that was acknowledged to it last, and what the next one is
-- to be above. Then for each aggregate:
--   root key, expected version and line feed (empty: none),
--   n, n times: key, field that must be absent
--   n, n times: key of a hash, life in ms (empty: lasting), pairs, as many times: field, value
--   n, n times: key of a hash, field to remove
--   n, n times: key of an index, sort key, value
--   n, n times: key of an index, sort key to remove
--   n, n times: key of a log, id, entry
-- A key is its place among the keys. Answers a letter for each aggregate (c committed, d committed and
-- another writer was turned away before, x conflict, e exists, w wrong type), the new mark, then the last id
-- of each log that was written.
local function commit(keys, args)
  local call = redis.call
  local at = 0
  local numbers = {}
  local kinds = {}
  local fits = true

  local function number()
    at = at + 1
    local text = args[at]
    local known = numbers[text]
    if known == nil then
      known = wholeNumber(text)
      numbers[text] = known
    end
    return known
  end

  local function text()
    at = at + 1
    return args[at] or refuse('the arguments end too early')
  end

  local function place()
    return keys[number()] or refuse('a key was not declared')
  end

  local function key(kind)
    local name = place()
    local found = kinds[name]
    if found == nil then
      found = call('TYPE', name).ok
      if found == 'none' then found = kind end
      kinds[name] = found
    end
    if found ~= kind then fits = false end
    return name
  end

  -- Of a hash; what is read first tells of which type it is, which saves a call.
  local function read(command, name, field)
    local found = redis.pcall(command, name, field)
    if type(found) ~= 'table' then
      kinds[name] = 'hash'
      return found
    end
    if string.sub(found.err, 1, 9) ~= 'WRONGTYPE' then error(found) end
    fits = false
    return false
  end

  local function check()
    fits = true
    local outcome = 'c'
    local root = place()
    local expected = text()
    local found = read('HGET', root, '')
    if expected == '' then
      if found then outcome = 'x' end
    elseif not found or string.sub(found, 1, #expected) ~= expected then
      outcome = 'x'
    end
    for _ = 1, number() do
      local name, field = place(), text()
      if fits and outcome == 'c' and read('HEXISTS', name, field) == 1 then outcome = 'e' end
    end
    local start = at
    for _ = 1, number() do
      key('hash')
      local life = text()
      if #life > 15 or string.find(life, '%D') then refuse('a life is no number') end
      local pairsCount = number()
      at = at + 2 * pairsCount
    end
    for _ = 1, number() do
      key('hash')
      at = at + 1
    end
    for _ = 1, number() do
      key('zset')
      at = at + 2
    end
    for _ = 1, number() do
      key('zset')
      at = at + 1
    end
    for _ = 1, number() do
      key('stream')
      if not string.find(text(), '^%d+%-%d+$') then refuse('an id of the log was expected') end
      at = at + 1
    end
    if not fits then outcome = 'w' end
    return outcome, start, root
  end

  local ids = {}

  local function append(log, id, entry)
    local given = redis.pcall('XADD', log, id, 'e', entry)
    if type(given) == 'table' then
      -- Another writer's clock is ahead: right behind its entry, so that the order is that of commits.
      local info = call('XINFO', 'STREAM', log)
      local last
      for i = 1, #info, 2 do
        if info[i] == 'last-generated-id' then last = info[i + 1] end
      end
      given = call('XADD', log, string.match(last, '^%d+') .. '-*', 'e', entry)
    end
    ids[log] = given
  end

  local function write()
    for _ = 1, number() do
      local name, life, left = key('hash'), text(), 2 * number()
      while left > 0 do
        local size = math.min(left, sliceSize)
        call('HSET', name, unpack(args, at + 1, at + size))
        at = at + size
        left = left - size
      end
      if life ~= '' then call('PEXPIRE', name, life, 'NX') end
    end
    for _ = 1, number() do
      call('HDEL', key('hash'), text())
    end
    for _ = 1, number() do
      local name, sortKey, value = key('zset'), text(), text()
      local member = sortKey .. '\0' .. value
      local from, to = '[' .. sortKey .. '\0', '(' .. sortKey .. '\1'
      local old = call('ZRANGEBYLEX', name, from, to, 'LIMIT', '0', '1')[1]
      if old ~= member then
        call('ZADD', name, '0', member)
        if old then call('ZREM', name, old) end
      end
    end
    for _ = 1, number() do
      local name, sortKey = key('zset'), text()
      call('ZREMRANGEBYLEX', name, '[' .. sortKey .. '\0', '(' .. sortKey .. '\1')
    end
    for _ = 1, number() do
      local name, id = key('stream'), text()
      append(name, id, text())
    end
  end

  local markPlace, acknowledged, base = number(), markNumber(text()), markNumber(text())
  local markKey, mark = checkMark(keys, markPlace, acknowledged)

  local outcomes, starts, roots = {}, {}, {}
  while at < #args do
    local count = #outcomes + 1
    outcomes[count], starts[count], roots[count] = check()
  end
  if at ~= #args then refuse('the arguments end too early') end
  checkRights(keys[1])

  -- Nothing below may refuse.
  for i, outcome in ipairs(outcomes) do
    if outcome == 'c' then
      at = starts[i]
      write()
      outcomes[i] = letThrough(roots[i])
    elseif outcome == 'x' then
      turnAway(roots[i])
    end
  end
  local reply = { table.concat(outcomes), '' }
  if markKey then
    mark = math.max(mark, base) + 1
    writeMark(markKey, mark)
    reply[2] = string.format('%.0f', mark)
  end
  for _, id in pairs(ids) do reply[#reply + 1] = id end
  return reply
end

`
