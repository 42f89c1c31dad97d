import type { Key, Loaded } from '../port.ts'
import type { RedisConnection } from './client.ts'
import { decodeRoot } from './commands.ts'
import { fieldOf, type RedisKeys } from './keys.ts'
import type { CallFunction } from './library.ts'
import { isLossOf, type MarkKeeper } from './marks.ts'

export interface RecordReaderOptions {
  readonly connection: RedisConnection
  readonly keys: RedisKeys
  readonly keeper: MarkKeeper | undefined
  readonly callFunction: CallFunction
}

/** A read beyond this is split. */
const maxKeysPerRead = 5_000

/** Reads roots and children, and notices when less is there than was acknowledged. */
export function createRecordReader({
  connection,
  keys,
  keeper,
  callFunction,
}: RecordReaderOptions) {
  async function load(wanted: readonly Key[]): Promise<(Loaded | undefined)[]> {
    const parts: (readonly Key[])[] = []
    for (let i = 0; i < wanted.length; i += maxKeysPerRead) {
      parts.push(wanted.slice(i, i + maxKeysPerRead))
    }
    return (await Promise.all(parts.map(loadPart))).flat()
  }

  async function loadPart(wanted: readonly Key[]): Promise<(Loaded | undefined)[]> {
    const places = new Map<number, number[]>()
    wanted.forEach(({ aggregate }, place) => {
      const target = connection.isCluster ? keys.partitionOf(aggregate) : 0
      const list = places.get(target)
      if (list === undefined) places.set(target, [place])
      else list.push(place)
    })
    const loaded = new Array<Loaded | undefined>(wanted.length)
    await Promise.all(
      [...places].map(async ([target, list]) => {
        const found = await loadTogether(
          target,
          list.map((place) => wanted[place] as Key),
        )
        list.forEach((place, i) => {
          loaded[place] = found[i]
        })
      }),
    )
    return loaded
  }

  async function loadTogether(
    target: number,
    wanted: readonly Key[],
  ): Promise<(Loaded | undefined)[]> {
    const names = new Map<string, string>()
    // Once the loss is known, what is there can be read: it is needed to book the rest again.
    const mark = keeper?.isLost(target) ? undefined : keeper?.markAt(target)
    const args = ['0', '0']
    if (mark !== undefined) {
      names.set(mark.key, '1')
      args.splice(0, 2, '1', String(mark.acknowledged))
    }
    for (const key of wanted) {
      const name = keys.group(key.aggregate, key.group)
      if (!names.has(name)) names.set(name, String(names.size + 1))
      args.push(names.get(name) as string, fieldOf(key))
    }
    const reading = callFunction('load', [...names.keys()], args)
    const found = (await reading.catch((error) => {
      if (isLossOf(error)) keeper?.noteLoss(target, Number(args[1]))
      throw error
    })) as (string | number | null)[]
    return wanted.map(({ aggregate, group, id }, i) => {
      const text = found[i]
      if (text === null || text === undefined) return undefined
      if (typeof text === 'number') {
        return { value: '', version: '', wrongType: quoted(keys.group(aggregate, group)) }
      }
      return group === '' && id === '' ? decodeRoot(text) : { value: text, version: '' }
    })
  }

  return { load }
}

/** As redis-cli takes it: a zero character stands between the parts of a name. */
function quoted(name: string): string {
  return JSON.stringify(name).replaceAll('\\u0000', '\\x00')
}
