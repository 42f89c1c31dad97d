/** Whether the file that was opened is still in its place: lines in another are found by nobody. */
export interface PlaceWatch {
  /** As it was looked for last; '' while it is in its place. */
  readonly problem: string
  /** Rejects when it is not there. */
  look(): Promise<void>
  stop(): void
}

export interface PlaceOptions {
  /** Rejects with what became of it. */
  readonly check: () => Promise<void>
  readonly lookMs: number
  /** Somebody writes, who looks by himself and may put a new file in the place. */
  readonly isBusy: () => boolean
  readonly onChange: (problem: string) => void
}

export function watchPlace(options: PlaceOptions): PlaceWatch {
  const { check, isBusy } = options
  let problem = ''

  function note(found: string): void {
    if (found === problem) return
    problem = found
    options.onChange(found)
  }

  const timer = setInterval(() => {
    if (isBusy()) return
    const noteUnlessBusy = (found: string) => {
      if (!isBusy()) note(found)
    }
    check().then(
      () => noteUnlessBusy(''),
      (error: Error) => noteUnlessBusy(error.message),
    )
  }, options.lookMs)
  timer.unref()

  return {
    get problem() {
      return problem
    },
    async look() {
      try {
        await check()
        note('')
      } catch (error) {
        note((error as Error).message)
        throw error
      }
    },
    stop: () => clearInterval(timer),
  }
}
