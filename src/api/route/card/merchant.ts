import { z } from 'zod'
import type { ListEdit } from '../../../domain/operation/operation.ts'
import { type Card, maxListedMids } from '../../../domain/record/card.ts'
import { responseCodes } from '../../../domain/record/response-code.ts'
import { readCard } from '../../../management/card.ts'
import { type Refused, refuse, refuseField } from '../../condition.ts'
import type { ApiContext } from '../../context.ts'
import { cardParams, reason } from '../../field.ts'
import { defineRoute, type Route } from '../../route.ts'
import { affectCard, ofCards, operateOn, refuseEnded } from './card-effect.ts'

const maxMids = 1_000
const midPattern = /^[\x20-\x7e]{1,64}$/

const done = ['Added', 'Removed', 'Unblocked'] as const
type Doing = (typeof done)[number]
type Failure = '119' | '134'

const result = z.object({
  mid: z.string(),
  result: z.enum([...done, 'Unchanged', 'Failed']),
  responseCode: z.string(),
  message: z.string().optional(),
})

type Result = z.output<typeof result>

/** One that is not so fails by itself; the others of its call do not. */
const mid = z.string().describe('1 to 64 printable ASCII characters')

const body = z
  .object({
    mid: mid.optional(),
    mids: z.array(mid).min(1).max(maxMids).optional().describe('This, or mid'),
    reason,
  })
  .meta({ description: 'Either `mid` or `mids`' })

const data = z.object({
  cardId: z.string(),
  results: z.array(result),
  done: z.int(),
  failed: z.int(),
  whitelistInForce: z.boolean(),
})

/** One way to change the MID lists of a card. */
interface MerchantControl {
  readonly path: string
  readonly summary: string
  readonly does: Doing
  readonly list: 'allowedMids' | 'blockedMids' | 'unblockedMids'
  readonly removes?: true
  /** Besides: lists that the MID leaves with it. */
  readonly alsoLeaves?: 'unblockedMids'
  /** A list that the MID must be on. */
  readonly within?: 'blockedMids'
}

const controls: readonly MerchantControl[] = [
  {
    path: 'blacklist',
    summary: 'Decline asks at merchants',
    does: 'Added',
    list: 'blockedMids',
  },
  {
    path: 'blacklist/remove',
    summary: 'Decline asks at merchants no more',
    does: 'Removed',
    list: 'blockedMids',
    removes: true,
    alsoLeaves: 'unblockedMids',
  },
  {
    path: 'whitelist',
    summary: 'Let only asks at listed merchants pass',
    does: 'Added',
    list: 'allowedMids',
  },
  {
    path: 'whitelist/remove',
    summary: 'Take merchants off the list of those that pass; without the last it ends',
    does: 'Removed',
    list: 'allowedMids',
    removes: true,
  },
  {
    path: 'unblock-once',
    summary: 'Let the next ask at a blacklisted merchant pass, once',
    does: 'Unblocked',
    list: 'unblockedMids',
    within: 'blockedMids',
  },
]

export function merchantRoutes(context: ApiContext): readonly Route[] {
  return controls.map((control) =>
    defineRoute({
      operation: `merchants.${control.path.replace('/', '.')}`,
      summary: control.summary,
      method: 'POST',
      path: `/cards/:cardId/merchants/${control.path}`,
      scope: 'CardAPIs',
      params: cardParams,
      query: z.object({}),
      body,
      data,
      reads: false,
      refusals: [...ofCards, 'cardClosed', 'midMalformed', 'midRefused', 'notPermitted'],
      async handle(call) {
        const { mid, mids, reason: why } = call.body
        const { cardId } = call.params
        if (mid !== undefined && mids !== undefined) {
          return refuseField('fieldNotAllowed', 'mids', 'must not be given with mid')
        }
        if (mid === undefined && mids === undefined) {
          return refuseField('fieldMissing', 'mid', 'or mids is required')
        }
        const given = [...new Set(mids ?? [mid!])]
        if (mid !== undefined && !midPattern.test(mid)) {
          const found = await readCard(context, organizationIdOf(call), cardId)
          const told = found === null ? null : dataOf(cardId, [failed(mid, '134')], found.card)
          const wrong = 'must be 1 to 64 printable ASCII characters'
          return { ...refuseField('midMalformed', 'mid', wrong), data: told }
        }
        return affectCard(context, call, cardId, (open) => {
          const ended = refuseEnded(open)
          if (ended !== null) return ended
          const { results, edits } = plan(control, given, open.card)
          if (results.every((one) => one.result === 'Failed')) {
            return refuseAll(dataOf(cardId, results, open.card))
          }
          // Nothing below may refuse.
          operateOn(open, { type: 'editLists', cardId, edits }, why)
          return { data: dataOf(cardId, results, open.now().card) }
        })
      },
    }),
  )
}

function organizationIdOf({
  caller,
}: {
  readonly caller: { readonly organization: { readonly organizationId: string } }
}): string {
  return caller.organization.organizationId
}

/** What becomes of each MID by itself, and the edits that do it all in one commit. */
function plan(
  { list, removes, alsoLeaves, within, does }: MerchantControl,
  mids: readonly string[],
  card: Card,
): { results: Result[]; edits: ListEdit[] } {
  const listed = new Set(card[list])
  const needed = within && new Set(card[within])
  let room = maxListedMids - listed.size
  const doing: string[] = []
  const results = mids.map((mid): Result => {
    if (!midPattern.test(mid)) return failed(mid, '134')
    if (needed?.has(mid) === false) return failed(mid, '134')
    if (listed.has(mid) !== (removes === true)) return told(mid, 'Unchanged')
    if (!removes && room-- <= 0) return failed(mid, '119')
    doing.push(mid)
    return told(mid, does)
  })
  const edit = (name: ListEdit['list']): ListEdit => {
    const [add, remove] = removes ? [[], doing] : [doing, []]
    return { list: name, clears: false, add, remove }
  }
  return { results, edits: [edit(list), ...(alsoLeaves ? [edit(alsoLeaves)] : [])] }
}

function told(mid: string, said: Result['result']): Result {
  return { mid, result: said, responseCode: '000' }
}

function failed(mid: string, code: Failure): Result {
  return { mid, result: 'Failed', responseCode: code, message: responseCodes[code].meaning }
}

function dataOf(cardId: string, results: Result[], card: Card) {
  const failures = results.filter((one) => one.result === 'Failed').length
  return {
    cardId,
    results,
    done: results.length - failures,
    failed: failures,
    whitelistInForce: card.allowedMids.length > 0,
  }
}

function refuseAll(told: ReturnType<typeof dataOf>): Refused {
  const [first] = told.results
  const condition = first?.responseCode === '119' ? 'notPermitted' : 'midRefused'
  return refuse(condition, 'nothing was done', { data: told })
}
