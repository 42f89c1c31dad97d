/** Cuts off who is slow with the head of a request; Node looks every 30 s by itself, which may be thrice the time. */
export function headWithin(timeoutMs: number) {
  return { headersTimeout: timeoutMs, connectionsCheckingInterval: 1_000 }
}
