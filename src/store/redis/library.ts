import { createHash } from 'node:crypto'
import { commitFunction } from './commit-function.ts'

/**
 * The one Function library. It knows keys, fields and versions, nothing about cards. Redis does not roll
 * back a function that fails half-way, so everything that can be wrong is looked at before the first
 * write: the form of the arguments, the type of every key, then versions and absent keys.
 *
 * Every key is declared: in a cluster a key that is not could be found missing half-way, while its slot
 * moves to another node. For the same reason puts come before removals: a key emptied on the way would
 * be taken for one that has moved. (What is both put and removed is not in the arguments' removals.)
 *
 * Numbers come as text, are checked as text, and leave as text: Lua rounds whole numbers above 14 digits
 * when it writes them.
 */
const body = `
-- unpack fails somewhere below 8,000 values.
local sliceSize = 1000

-- Only ever before the first write: the client takes it for not executed.
local function refuse(why)
  error({ err = 'ARBITER ' .. why })
end

local function wholeNumber(text)
  if text == nil or #text > 9 or not string.find(text, '^%d+$') then
    refuse('a number was expected')
  end
  return tonumber(text)
end

-- Roots at which a writer was turned away since the last commit. It is worth only a little fairness: it
-- stands in memory alone, goes with the server, and is forgotten when it becomes large.
local crowded, crowdedCount, maxCrowded = {}, 0, 1000

local function turnAway(root)
  if crowded[root] then return end
  if crowdedCount == maxCrowded then crowded, crowdedCount = {}, 0 end
  crowded[root], crowdedCount = true, crowdedCount + 1
end

local function letThrough(root)
  if not crowded[root] then return 'c' end
  crowded[root], crowdedCount = nil, crowdedCount - 1
  return 'd'
end

-- All that a commit writes by, and what it reads after its first write.
local function writesOn(hash, index, log)
  return {
    { 'HSET', hash, '', '' }, { 'HDEL', hash, '' }, { 'PEXPIRE', hash, '1', 'NX' },
    { 'ZRANGEBYLEX', index, '-', '+' }, { 'ZADD', index, '0', '' }, { 'ZREM', index, '' },
    { 'ZREMRANGEBYLEX', index, '-', '+' }, { 'XADD', log, '*', 'e', '' }, { 'XINFO', 'STREAM', log },
  }
end

-- Which of these commands this user may not run.
local function deniedOf(wanted)
  local found = {}
  for _, command in ipairs(wanted) do
    -- It throws where the server knows no such command, because it was renamed.
    local known, allowed = pcall(redis.acl_check_cmd, unpack(command))
    if not (known and allowed) then found[#found + 1] = command[1] end
  end
  return found
end

-- A right can be taken away while servers run.
local function checkRights(name)
  local denied = deniedOf(writesOn(name, name, name))
  if #denied == 0 then return end
  refuse('the user of REDIS_URL may not run ' .. table.concat(denied, ', ') .. ': give it the right.')
end

-- The mark of a writer: how many calls of it were executed here. It is written by the same call as what
-- it counts, so a server that lacks the one lacks the other. Lua keeps whole numbers below 2^53 exactly.
local markField, markLifeMs, marksPerLife = '', '86400000', 256

local function markNumber(text)
  if text == nil or #text > 16 or not string.find(text, '^%d+$') then refuse('a mark was expected') end
  return tonumber(text)
end

local function readMark(name)
  return markNumber(redis.call('HGET', name, markField) or '0')
end

-- Nothing is read or written where less is found than was acknowledged to the writer. The mark's key is
-- named by its place among the keys, 0 for a writer that keeps none.
local function checkMark(keys, place, acknowledged)
  if place == 0 then return nil, nil end
  local name = keys[place] or refuse('a key was not declared')
  local mark = readMark(name)
  if mark < acknowledged then refuse('lost: less is here than was acknowledged') end
  return name, mark
end

-- The mark of a writer that is gone expires. Should it expire while its writer only stands, as on a machine that is
-- suspended, that one finds it too low and books again what it remembers, for nothing.
local function writeMark(name, mark)
  redis.call('HSET', name, markField, string.format('%.0f', mark))
  if mark % marksPerLife == 1 then redis.call('PEXPIRE', name, markLifeMs) end
end

${commitFunction}-- A writer's mark, and what this server says of its replicas.
local function mark(keys, args)
  return { string.format('%.0f', readMark(keys[1])), redis.call('INFO', 'replication') }
end

-- A writer that has seen what is lost begins anew, above all that was ever acknowledged to it.
local function remark(keys, args)
  writeMark(keys[1], markNumber(args[1]))
  return 'OK'
end

-- Few commits may come to a partition in a day, or none, while their writer is there.
local function prolong(keys, args)
  return redis.call('PEXPIRE', keys[1], markLifeMs)
end

-- It may write and does not: Redis refuses it where it would refuse a commit. The argument is any key of the store.
local function trial(keys, args)
  checkRights(args[1])
  return 'OK'
end

-- The place of the reader's mark and what was acknowledged to it; then key, field; key, field; … in that
-- order: a root listed first is never newer than its children.
-- A number stands for a key that holds another type: it must not fail what others read.
local function load(keys, args)
  local found = {}
  checkMark(keys, wholeNumber(args[1]), markNumber(args[2]))
  for i = 3, #args, 2 do
    local name = keys[wholeNumber(args[i])] or refuse('a key was not declared')
    local value = redis.pcall('HGET', name, args[i + 1])
    if type(value) == 'table' then
      if not string.find(value.err, '^WRONGTYPE') then error(value) end
      value = 0
    end
    found[#found + 1] = value
  end
  return found
end

-- The ids of a part of the log, without its entries.
local function ids(keys, args)
  local call = redis.call
  local found = {}
  for i, entry in ipairs(call('XRANGE', keys[1], args[1], args[2], 'COUNT', args[3])) do
    found[i] = entry[1]
  end
  return found
end

-- Makes the store, or tells what was fixed when it was made. The third is its name if it has none; empty: it
-- is there already, and must not be made.
local function claim(keys, args)
  local call = redis.call
  local meta, name = keys[1], args[3]
  local kind = call('TYPE', meta).ok
  if kind ~= 'none' and kind ~= 'hash' then refuse('its key ' .. meta .. ' holds a ' .. kind) end
  if kind == 'none' and name ~= '' then
    call('HSET', meta, 'format', args[1], 'partitions', args[2])
  end
  if name ~= '' and call('HEXISTS', meta, 'name') == 0 then call('HSET', meta, 'name', name) end
  return call('HMGET', meta, 'format', 'partitions', 'name')
end

-- Which commands this user may not run on such keys: half-way is too late to learn it.
local function denied(keys, args)
  local hash, index, log = keys[1], keys[2], keys[3]
  local wanted = writesOn(hash, index, log)
  for _, command in ipairs({
    { 'TYPE', hash }, { 'HGET', hash, '' }, { 'HEXISTS', hash, '' }, { 'HMGET', hash, '' },
    { 'HSCAN', hash, '0' }, { 'ZRANGE', index, '-', '+', 'BYLEX' }, { 'ZLEXCOUNT', index, '-', '+' },
    { 'XRANGE', log, '-', '+' }, { 'XREVRANGE', log, '+', '-' }, { 'XTRIM', log, 'MINID', '0' },
    { 'INFO', 'replication' },
  }) do wanted[#wanted + 1] = command end
  return deniedOf(wanted)
end
`

/** Named by its content, so that instances of two releases can share a server. */
const libraryName = `arbiter_${createHash('sha256').update(body).digest('hex').slice(0, 12)}`

const readers = ['load', 'ids', 'denied', 'mark'] as const
const writers = ['commit', 'claim', 'remark', 'prolong', 'trial'] as const

export type FunctionName = (typeof readers)[number] | (typeof writers)[number]

/** Calls a function of the library on the server of the first of the keys. */
export type CallFunction = (
  name: FunctionName,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>

export function functionName(name: FunctionName): string {
  return `${libraryName}_${name}`
}

/** FCALL_RO also runs where nothing may be written: out of memory, or without enough replicas. */
export function isReader(name: FunctionName): boolean {
  return (readers as readonly string[]).includes(name)
}

export const librarySource = [
  `#!lua name=${libraryName}`,
  body,
  ...readers.map(
    (name) =>
      `redis.register_function{ function_name = '${functionName(name)}', callback = ${name}, ` +
      `flags = { 'no-writes' } }`,
  ),
  ...writers.map((name) => `redis.register_function('${functionName(name)}', ${name})`),
].join('\n')
