import { finished } from 'node:stream'
import { systemClock } from './clock.ts'
import type { Logger } from './telemetry/logger.ts'

/**
 * npm passes on what its command is sent as well by a terminal, `timeout` or whoever else stops all processes of a group:
 * one Ctrl-C or SIGTERM is heard twice, some milliseconds apart.
 */
const echoMs = 500

/** Tells the echo of a signal from another one. */
export function createEcho(): (signal: string) => boolean {
  const heardMonoMs = new Map<string, number>()
  return (signal) => {
    const nowMonoMs = systemClock.monoMs()
    const isEcho = nowMonoMs - (heardMonoMs.get(signal) ?? Number.NEGATIVE_INFINITY) < echoMs
    if (!isEcho) heardMonoMs.set(signal, nowMonoMs)
    return isEcho
  }
}

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

/**
 * Hears the signals to stop before there is anything to stop: the first process of a container gets them only if it
 * listens. Returns what hears them from then on.
 */
export function hearStop(
  logger: Logger,
  leaveUnserved: () => Promise<void>,
): (listener: (signal: string) => void) => void {
  let stop = (signal: string): void => {
    logger.info({ signal }, 'stopped before it served')
    void leaveUnserved()
  }
  const isEcho = createEcho()
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      if (!isEcho(signal)) stop(signal)
    })
  }
  return (listener) => {
    stop = listener
  }
}

/** Who holds the other end need not be able to say that it ends: a connection may be reset. A file ends and is not closed. */
export function endWithInput(): void {
  finished(process.stdin, { writable: false }, () => process.kill(process.pid, 'SIGTERM'))
  process.stdin.resume()
}
