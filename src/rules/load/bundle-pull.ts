import { createOutgoing } from '../../outgoing/call.ts'
import { createResolver } from '../../outgoing/name.ts'
import { maxBundleBytes } from '../pack/reading.ts'

/** `same`: the address has what it had at the last call. */
type Pulled =
  | { readonly type: 'same' }
  | { readonly type: 'bundle'; readonly text: string }
  | { readonly type: 'failed'; readonly problem: string }

const pullTimeoutMs = 20_000

/** Asks an address for its bundle; `anew` also for the one that it has answered already. */
export type Puller = (anew: boolean) => Promise<Pulled>

export function createPuller(url: string, proxy: string, monoMs: () => number): Puller {
  const clock = { monoMs }
  const outgoing = createOutgoing({
    clock,
    // The address is the operator's own setting, and what comes from it must be signed.
    allows: () => '',
    allowsPlain: true,
    resolve: createResolver(clock),
    proxy,
    maxCalls: 1,
    maxAnswerBytes: maxBundleBytes,
  })
  let etag = ''
  return async (anew) => {
    const headers: Record<string, string> = etag === '' || anew ? {} : { 'if-none-match': etag }
    const answer = await outgoing.call({ method: 'GET', url, headers, timeoutMs: pullTimeoutMs })
    // After a fault the whole bundle is asked for, so that it is judged once more.
    etag = ''
    if ('fault' in answer) return failed(`cannot be reached: ${answer.detail}`)
    const named = headers['if-none-match']
    // Without the name of what we have it would say nothing: a server that starts would wait for ever.
    if (answer.status === 304 && named !== undefined) {
      etag = answer.etag || named
      return { type: 'same' }
    }
    if (answer.status !== 200) return failed(`answers ${answer.status}`)
    if (answer.isCut) return failed(`has more than ${maxBundleBytes} bytes`)
    etag = answer.etag
    return { type: 'bundle', text: answer.body }
  }
}

function failed(problem: string): Pulled {
  return { type: 'failed', problem: `RULES_URL ${problem}` }
}
