import type { Logger } from './telemetry/logger.ts'

/**
 * Hears signals from the first moment on: by default Node opens a debugger on SIGUSR1, which elsewhere opens logs
 * anew, and ends on the others.
 */
export function hearSignals(logger: Logger): { onHangUp(listener: () => void): void } {
  let hangUp = () => {}
  process.on('SIGHUP', () => hangUp())
  for (const signal of ['SIGUSR1', 'SIGUSR2']) {
    process.on(signal, () => logger.info({ signal }, 'this signal does nothing here'))
  }
  return {
    onHangUp(listener) {
      hangUp = listener
    },
  }
}
