import { z } from 'zod'
import { contractMs } from '../../contract-limit.ts'
import type { Office } from '../office.ts'
import { type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { NowHistory, WhoAmI } from '../shape/now.ts'

const nothing = z.object({})

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
