import { z } from 'zod'
import type { Office } from '../office.ts'
import { type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { NowHistory, WhoAmI } from '../shape/now.ts'

const nothing = z.object({})
const contractMs = 400

export function nowRoutes(office: Office, isOpen: boolean): ConsoleRoute[] {
  const { version, budgetMs } = office
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/who',
      input: nothing,
      async handle(_, { name, role }): Promise<WhoAmI> {
        return { name, role, loggedIn: !isOpen, version, budgetMs, contractMs }
      },
    }),
    defineConsoleRoute({
      method: 'GET',
      path: '/data/now',
      input: nothing,
      handle: async (): Promise<NowHistory> => office.figures.history(),
    }),
  ]
}
