import { z } from 'zod'
import { readCard } from '../../management/card.ts'
import type { Profile } from '../../profile/profile.ts'
import { createRelayClient } from '../../relay/client.ts'
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
  let profile: Profile | null = null

  /** Which card a body is about, by the profile that the relay port speaks; '' where that refuses it. */
  async function cardIdOf(body: string, target: RelayTarget): Promise<string> {
    profile ??= await readProfile(target)
    const { event } = profile.read(Buffer.from(body))
    return isRefusal(event) ? '' : event.cardId
  }

  return [
    defineRoute({
      operation: 'sandbox.events',
      summary: 'Sends a card event as the relay would; its answer is the data',
      method: 'POST',
      path: '/sandbox/events',
      scope: 'CardAPIs',
      params: nothing,
      query: nothing,
      body: z.looseObject({}),
      data: z.unknown(),
      reads: true,
      refusals: ['cardUnknown', 'notPermitted', 'unavailable'],
      async handle({ caller, body }) {
        const port = relay === null ? 0 : relay.port[0]!
        if (relay === null || port === 0) {
          return refuse('notPermitted', 'this server has no relay port that speaks plain HTTP')
        }
        const { organizationId } = caller.organization
        // The relay port books what is declined where the card is, and that is no business of this caller.
        const text = bodyText(body)
        const cardId = await cardIdOf(text, relay)
        if (cardId !== '' && (await readCard(context, organizationId, cardId)) === null) {
          return refuse('cardUnknown')
        }
        const path = `/authorize/${encodeURIComponent(organizationId)}`
        const { secret, authorization } = relay
        const client = createRelayClient({
          urls: [`http://${relay.host}:${port}${path}`],
          clock,
          secret,
          ...(authorization !== '' && { authorization }),
          connections: 1,
        })
        try {
          const { answer, late } = await client.deliverBody(text)
          const said = answer ?? (await late)
          if (said === null) return refuse('unavailable', 'the relay port did not answer')
          const answered = jsonOf(said.text)
          if (said.status === 200) return { data: answered }
          return refuse('bodyMalformed', `the relay port answered ${said.status}`, {
            data: answered,
          })
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

/** With the first event: it costs the start of a server that gets none nothing. */
async function readProfile({ profile, rulesDir }: RelayTarget): Promise<Profile> {
  const { findProfile } = await import('../../profile/profile.ts')
  return findProfile(profile, rulesDir)
}
