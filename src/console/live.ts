import type { ServerResponse } from 'node:http'

/** What one browser is told of an event; null for nothing. */
export type Wants = (event: string) => Promise<string | null>

interface Subscriber {
  readonly wants: Wants
  /** Whether its person is still logged in. */
  readonly mayHear: () => boolean
}

/** Browsers that are told by Server-Sent Events. */
export interface Live {
  readonly size: number
  /** False when there are too many. */
  admit(response: ServerResponse, subscriber: Subscriber): boolean
  /** The same text to all. */
  tell(event: string, data: string): void
  /** To each what it wants. */
  tellEach(event: string): Promise<void>
  /** Ends those whose person was logged out. */
  recheck(): void
  close(): void
}

const maxSubscribers = 200
/** What a browser that does not read may leave unread; it then connects again. */
const maxUnreadBytes = 262_144
const retryMs = 1_000

export function createLive(): Live {
  const subscribers = new Map<ServerResponse, Subscriber>()

  function send(response: ServerResponse, message: Buffer): void {
    if (response.writableLength > maxUnreadBytes) {
      subscribers.delete(response)
      response.destroy()
      return
    }
    response.write(message)
  }

  return {
    get size() {
      return subscribers.size
    },
    admit(response, subscriber) {
      if (subscribers.size >= maxSubscribers) return false
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-accel-buffering': 'no',
      })
      response.write(`retry: ${retryMs}\n\n`)
      subscribers.set(response, subscriber)
      response.once('close', () => subscribers.delete(response))
      return true
    },
    tell(event, data) {
      const message = messageOf(event, data)
      for (const response of subscribers.keys()) send(response, message)
    },
    async tellEach(event) {
      // Most want the same, and bytes are made once.
      const messages = new Map<string, Buffer>()
      for (const [response, { wants }] of subscribers) {
        const data = await wants(event)
        if (data === null) continue
        const message = messages.get(data) ?? messageOf(event, data)
        messages.set(data, message)
        send(response, message)
      }
    },
    recheck() {
      for (const [response, { mayHear }] of subscribers) {
        if (mayHear()) continue
        subscribers.delete(response)
        response.end()
      }
    },
    close() {
      for (const response of subscribers.keys()) response.end()
      subscribers.clear()
    },
  }
}

function messageOf(event: string, data: string): Buffer {
  return Buffer.from(`event: ${event}\ndata: ${data}\n\n`)
}
