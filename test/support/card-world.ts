import { importRows } from '../../src/engine/import.ts'
import { addCustomer } from '../../src/management/customer.ts'
import { wasTurnedDown } from '../../src/management/organization.ts'
import { type ApiWorldOptions, openApi } from './api-world.ts'

const row = { customerId: 'customer-1', type: 'retail', currency: 'USD', country: 'US' }

/**
 * The API with customers and imported cards: card-1 and card-2 of org-1, and one of org-2, which is as
 * unknown to the caller.
 */
export async function openCardApi(options: ApiWorldOptions = {}) {
  const api = await openApi({ scopes: ['CardAPIs', 'CardAPIs.Pan', 'CardAPIs.Fund'], ...options })
  const customer = async (customerId: string, more: object = {}) => {
    const given = {
      customerId,
      organizationId: 'org-1',
      type: 'individual' as const,
      name: 'Ada Obi',
    }
    const outcome = await addCustomer(api.aggregates, { ...given, ...more }, api.clock.nowMs())
    if (wasTurnedDown(outcome)) throw new Error(outcome.refused)
  }
  const card = async (cardId: string, more: object = {}) => {
    const given = { ...row, cardId, organizationId: 'org-1', ...more }
    const { problems } = await importRows([given], api.engine)
    if (problems.length > 0) throw new Error(JSON.stringify(problems))
  }
  await customer('customer-1')
  await card('card-1', { balance: '100.00' })
  await card('card-2', { balance: '50.00' })
  await card('foreign', { organizationId: 'org-2', balance: '50.00' })
  return { ...api, customer, card }
}
