/** How many calls of each organization are at work at once. */
export interface CallShare {
  /** Whether an organization has so many that the rest is for the others. */
  isFull(organizationId: string): boolean
  /** Counts one until it has ended. */
  during<T>(organizationId: string, work: () => Promise<T>): Promise<T>
}

export function createCallShare(maxOfOne: number): CallShare {
  const atWork = new Map<string, number>()

  function add(organizationId: string, calls: number): void {
    const count = (atWork.get(organizationId) ?? 0) + calls
    if (count === 0) atWork.delete(organizationId)
    else atWork.set(organizationId, count)
  }

  return {
    isFull: (organizationId) => (atWork.get(organizationId) ?? 0) >= maxOfOne,
    async during(organizationId, work) {
      add(organizationId, 1)
      try {
        return await work()
      } finally {
        add(organizationId, -1)
      }
    },
  }
}
