import { z } from 'zod'
import { readCard } from '../../management/card.ts'
import type { Profile } from '../../profile/profile.ts'
import { isToRepeat } from '../../relay/answer.ts'
import { createRelayClient } from '../../relay/client.ts'
import type { Sign } from '../../wire/authentication.ts'
import { isRefusal } from '../../wire/refusal.ts'
import { bodyText } from '../body.ts'
import { refuse } from '../condition.ts'
import type { ApiContext, RelayTarget } from '../context.ts'
import { defineRoute, type Route } from '../route.ts'

const nothing = z.object({})

/** A sandbox: card events, sent to our own relay port as a relay would. */
export function sandboxEventRoutes(context: ApiContext): readonly Route[] {
  const { settings, clock } = context
  const { relay, sandbox } = settings
  if (!sandbox) return []
  let peer: Peer | null = null

  return [
    defineRoute({
      operation: 'sandbox.events',
      summary:
        'Sends the event of an own card in the body as the relay would; its answer is the data',
      method: 'POST',
      path: '/sandbox/events',
      scope: 'CardAPIs',
      params: nothing,
      query: nothing,
      body: z
        .looseObject({})
        .meta({ description: 'What the relay sends: a CardEvent, or the shape of RELAY_PROFILE' }),
      data: z.unknown(),
      reads: true,
      refusals: ['cardUnknown', 'notPermitted', 'unavailable'],
      async handle({ caller, body }) {
        const port = relay === null ? 0 : relay.port[0]!
        if (relay === null || port === 0) {
          return refuse('notPermitted', 'this server has no relay port that speaks plain HTTP')
        }
        const { organizationId } = caller.organization
        peer ??= await openPeer(relay)
        const { profile, sign } = peer
        const text = bodyText(body)
        const { event } = profile.read(Buffer.from(text))
        const isEvent = !isRefusal(event)
        // The relay port books what is declined where the card is, and that is no business of this caller.
        if (isEvent && (await readCard(context, organizationId, event.cardId)) === null) {
          return refuse('cardUnknown')
        }
        const path = `${profile.path}/${encodeURIComponent(organizationId)}`
        const client = createRelayClient({
          urls: [`http://${relay.host}:${port}${path}`],
          clock,
          sign,
          connections: 1,
        })
        try {
          const { answer, late, problem } = await client.deliverBody(text)
          const said = answer ?? (await late)
          if (said === null) {
            // What nobody took was not done; what was taken may be.
            const why = problem() === 'ECONNREFUSED' ? 'unavailable' : 'outcomeUnknown'
            return refuse(why, 'the relay port did not answer')
          }
          const answered = jsonOf(said.text)
          // A profile may decline with a status of its own.
          const isAnswer = said.status === 200 || (isEvent && profile.statuses.has(said.status))
          if (isAnswer) return { data: answered }
          const condition = isToRepeat(said) ? 'unavailable' : 'bodyMalformed'
          const detail = `the relay port answered ${said.status}`
          const why = isEvent ? '' : `: ${event.message}`
          return refuse(condition, `${detail}${why}`, { data: answered })
        } finally {
          client.close()
        }
      },
    }),
  ]
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** What the relay port of this server expects of its caller. */
interface Peer {
  readonly profile: Profile
  readonly sign: Sign
}

/** With the first event: it costs the start of a server that gets none nothing. */
async function openPeer({ profile: source, authentication }: RelayTarget): Promise<Peer> {
  const { compileProfile } = await import('../../profile/profile.ts')
  const { createProfileSigning } = await import('../../profile/authentication.ts')
  const profile = compileProfile(source)
  return { profile, sign: createProfileSigning(profile.authentication, authentication) }
}
