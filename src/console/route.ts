import type { z } from 'zod'
import type { Who } from './session.ts'

/** Something that a page may ask for or do. */
export interface ConsoleRoute<Input extends z.ZodType = z.ZodType> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Of the query of a GET, or of the body of a POST. */
  readonly input: Input
  /** POSTs are for operators. */
  handle(input: z.output<Input>, who: Who): Promise<unknown>
}

export function defineConsoleRoute<Input extends z.ZodType>(
  route: ConsoleRoute<Input>,
): ConsoleRoute {
  return route as unknown as ConsoleRoute
}

/** Why something was not done or found, for the person who asked. */
export class ConsoleRefused extends Error {
  readonly status: 400 | 404 | 409 | 503

  constructor(status: ConsoleRefused['status'], message: string) {
    super(message)
    this.status = status
  }
}
