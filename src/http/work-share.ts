/** How many requests of each of many are at work at once. */
export interface WorkShare {
  /** Whether one has so many that the rest is for the others. */
  isFull(name: string): boolean
  /** Counts one until it has ended. */
  during<T>(name: string, work: () => Promise<T>): Promise<T>
}

export function createWorkShare(maxOfOne: number): WorkShare {
  const atWork = new Map<string, number>()

  function add(name: string, requests: number): void {
    const count = (atWork.get(name) ?? 0) + requests
    if (count === 0) atWork.delete(name)
    else atWork.set(name, count)
  }

  return {
    isFull: (name) => (atWork.get(name) ?? 0) >= maxOfOne,
    async during(name, work) {
      add(name, 1)
      try {
        return await work()
      } finally {
        add(name, -1)
      }
    },
  }
}
