/** Why an operation cannot be done; the message is for the person who asked. */
export interface OperationRefused {
  readonly refused: string
}

export interface OperationOutcome extends OperationRefused {
  /** False when everything was so already; `refused` is '' when it was done. */
  readonly changed: boolean
}
