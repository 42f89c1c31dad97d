import { z } from 'zod'
import { majorOf } from '../../domain/record/money.ts'
import { defineRoute, type Route } from '../route.ts'

const nothing = z.object({})

const data = z.object({
  organizationId: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  country: z.string(),
  currencies: z.array(z.string()),
  defaultDecision: z.enum(['approve', 'decline']),
  maxTopUp: z.record(z.string(), z.number()),
  minimumBalance: z.record(z.string(), z.number()),
  cardValidityMonths: z.int(),
})

export const organizationRoutes: readonly Route[] = [
  defineRoute({
    operation: 'organization.show',
    summary: "The organization's settings",
    method: 'GET',
    path: '/organization',
    scope: 'CardAPIs.Read',
    params: nothing,
    query: nothing,
    body: nothing,
    data,
    reads: true,
    refusals: [],
    async handle({ caller }) {
      const o = caller.organization
      return {
        data: {
          organizationId: o.organizationId,
          name: o.name,
          enabled: o.enabled,
          country: o.country,
          currencies: o.currencies,
          defaultDecision: o.defaultDecision,
          maxTopUp: amountsOf(o.maxTopUpMinor),
          minimumBalance: amountsOf(o.minimumBalanceMinor),
          cardValidityMonths: o.cardValidityMonths,
        },
      }
    },
  }),
]

function amountsOf(minor: Readonly<Record<string, number>>): Record<string, number> {
  const amounts = Object.entries(minor).map(
    ([currency, amount]) => [currency, majorOf(amount, currency)] as const,
  )
  return Object.fromEntries(amounts)
}
