import type { ServerResponse } from 'node:http'

/** Browsers that are told by Server-Sent Events. */
export interface Live {
  readonly size: number
  /** False when there are too many. */
  admit(response: ServerResponse, wants: (event: string) => string | null): boolean
  /** The same text to all, each through what it wants. */
  tell(event: string, data: string): void
  /** What each wants, made for it alone. */
  tellEach(event: string): void
  close(): void
}

const maxSubscribers = 200
/** What a browser that does not read may leave unread; it then connects again. */
const maxUnreadBytes = 262_144
const retryMs = 1_000

export function createLive(): Live {
  const subscribers = new Map<ServerResponse, (event: string) => string | null>()

  function send(response: ServerResponse, event: string, data: string): void {
    if (response.writableLength > maxUnreadBytes) {
      subscribers.delete(response)
      response.destroy()
      return
    }
    response.write(`event: ${event}\ndata: ${data}\n\n`)
  }

  return {
    get size() {
      return subscribers.size
    },
    admit(response, wants) {
      if (subscribers.size >= maxSubscribers) return false
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-accel-buffering': 'no',
      })
      response.write(`retry: ${retryMs}\n\n`)
      subscribers.set(response, wants)
      response.once('close', () => subscribers.delete(response))
      return true
    },
    tell(event, data) {
      for (const response of subscribers.keys()) send(response, event, data)
    },
    tellEach(event) {
      for (const [response, wants] of subscribers) {
        const data = wants(event)
        if (data !== null) send(response, event, data)
      }
    },
    close() {
      for (const response of subscribers.keys()) response.end()
      subscribers.clear()
    },
  }
}
