/** The journal cannot be used at all. */
export interface JournalProblem {
  readonly problem: 'locked' | 'foreign' | 'unusable'
  readonly message: string
}

export function isJournalProblem(result: object): result is JournalProblem {
  return 'problem' in result
}

export class JournalError extends Error {
  override readonly name = 'JournalError'
  /**
   * full: too much is pending. timeout: the disk is slow. disk: it failed, `code` says how. gone: the file
   * is no longer where its name says.
   */
  readonly kind: 'full' | 'timeout' | 'disk' | 'gone' | 'closed'
  readonly code: string

  constructor(kind: JournalError['kind'], code: string, message: string) {
    super(message)
    this.kind = kind
    this.code = code
  }
}

export function diskError(error: unknown): JournalError {
  const code = codeOf(error)
  return new JournalError('disk', code, `the journal could not be written (${code})`)
}

export function unusable(error: unknown): JournalProblem {
  if (codeOf(error) === unknownCode) throw error
  return { problem: 'unusable', message: `the journal cannot be used (${codeOf(error)})` }
}

const unknownCode = 'UNKNOWN'

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? unknownCode
}
