import type { RelayAnswer } from './answer.ts'

/** Traffic makes no sense as things are set up; the message says what to do. */
export class RelayRefused extends Error {
  override readonly name = 'RelayRefused'
}

/** What the codes of failed TLS connections mean, and what to do. */
const connectionProblems: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed: name that with --ca FILE',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is of an unknown authority: name that with --ca FILE',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is of an unknown authority: name that with --ca FILE',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is of an unknown authority: name that with --ca FILE',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate is of an unknown authority: name that with --ca FILE',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name: name it so in the URL',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS: begin the URL with http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS: begin the URL with http://',
}

/** The words for a code, or the code itself; `known` means that no retry would help. */
export function explainProblem(code: string): { readonly text: string; readonly known: boolean } {
  const text = connectionProblems[code]
  return text === undefined
    ? { text: code, known: false }
    : { text: `${text} (${code})`, known: true }
}

/** Why an answer says nothing of a decision and never will; '' when it does. */
export function whyTurnedAway({ status, text }: RelayAnswer): string {
  if (status === 401 || status === 403) {
    return `does not let this in (HTTP ${status}): set RELAY_SECRET, or RELAY_AUTH=basic with RELAY_USER and RELAY_PASSWORD, or give --cert and --key, as the server expects it`
  }
  if (status === 404 || status === 405) {
    return `has no Authorization URL there (HTTP ${status}): name it, such as http://127.0.0.1:8080/authorize`
  }
  if (status === 200 && !/"decision":"(approve|decline)"/.test(text)) {
    return 'answers in another shape: the server must have RELAY_PROFILE=default'
  }
  return status >= 300 && status < 400 ? `answers HTTP ${status}: name the server itself` : ''
}
