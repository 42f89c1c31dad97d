import { Gauge, type Registry } from 'prom-client'

interface WebhookFigures {
  readonly pending: number
  readonly oldestSeconds: number
  readonly disabled: number
}

/** What is told of webhooks. */
export function createWebhookMetrics(registers: Registry[]): (figures: WebhookFigures) => void {
  const pending = new Gauge({
    name: 'arbiter_webhooks_pending',
    help: 'Deliveries of webhooks of all instances that wait; 10000 is 10000 or more',
    registers,
  })
  const oldest = new Gauge({
    name: 'arbiter_webhooks_oldest_seconds',
    help: 'Age of the oldest event among them; 0 when nothing waits',
    registers,
  })
  const disabled = new Gauge({
    name: 'arbiter_webhooks_disabled',
    help: 'Webhooks that this process has disabled because they answered 410, or failed for five days',
    registers,
  })
  return (figures) => {
    pending.set(figures.pending)
    oldest.set(figures.oldestSeconds)
    disabled.set(figures.disabled)
  }
}
