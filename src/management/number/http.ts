import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { readJson } from '../../outgoing/answer.ts'
import type { Outgoing } from '../../outgoing/call.ts'
import { signedHeaders } from '../../outgoing/signature.ts'
import { maskPattern, type NumberFault, type NumberSource } from './source.ts'

export interface HttpNumbersOptions {
  readonly outgoing: Pick<Outgoing, 'call'>
  readonly clock: Pick<Clock, 'nowMs'>
  /** Without a slash at its end. */
  readonly url: string
  readonly secret: Buffer
  /** Why it gave no number; nothing of an answer is in it. */
  readonly onTrouble: (message: string) => void
}

const timeoutMs = 8_000

/** A mask that is none would be a number in the clear: it is refused whole. */
const made = z.object({
  maskedPan: z.string().regex(maskPattern),
  expiry: z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])$/),
})

const full = z.object({
  pan: z.string().regex(/^\d{13,19}$/),
  cvv: z.string().regex(/^\d{3,4}$/),
})

/** Numbers of somebody who may keep them; they pass through here, and nothing of them stays. */
export function createHttpNumbers(options: HttpNumbersOptions): NumberSource {
  const { outgoing, clock, url, secret, onTrouble } = options

  function failed(problem: string): 'failed' {
    onTrouble(`the card number service ${problem}`)
    return 'failed'
  }

  async function ask<T>(
    method: 'GET' | 'POST',
    path: string,
    id: string,
    body: string,
    answer: z.ZodType<T>,
  ): Promise<T | NumberFault | 'none'> {
    const signed = signedHeaders({ id, body, atMs: clock.nowMs() }, [secret])
    const headers = { accept: 'application/json', ...signed }
    const said = await outgoing.call({
      method,
      url: `${url}${path}`,
      headers: method === 'POST' ? { 'content-type': 'application/json', ...headers } : headers,
      ...(method === 'POST' && { body }),
      timeoutMs,
    })
    if ('fault' in said) {
      const fault = failed(`cannot be reached: ${said.detail}`)
      return said.fault === 'timedOut' ? 'timedOut' : fault
    }
    if (said.status === 404) return 'none'
    if (said.status < 200 || said.status > 299) return failed(`answers ${said.status}`)
    const found = said.isCut ? 'it is too long' : readJson(said.body, answer)
    if (typeof found !== 'string') return found.said
    return failed(`answers otherwise than docs/WEBHOOKS.md says: ${found}`)
  }

  return {
    async make(card) {
      const said = await ask('POST', '/cards', card.cardId, JSON.stringify(card), made)
      if (said === 'none') return failed('answers 404 to a new card')
      // Every ask of such a card would be declined, and a lite one takes money along.
      const hasEnded = typeof said === 'object' && said.expiry < monthOf(clock.nowMs())
      return hasEnded ? failed('answers an expiry that has passed') : said
    },
    read: (cardId) => ask('GET', `/cards/${encodeURIComponent(cardId)}/full`, cardId, '', full),
  }
}

function monthOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 7)
}
