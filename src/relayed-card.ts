import { findProfile } from './gate/profile/profile.ts'
import { isRefusal } from './wire/refusal.ts'

/** Reads which card a body of the relay is about, by the profile that its port speaks; '' where that refuses it. */
export function createCardReader(profile: string, rulesDir: string): (body: string) => string {
  const { read } = findProfile(profile, rulesDir)
  return (body) => {
    const { event } = read(Buffer.from(body))
    return isRefusal(event) ? '' : event.cardId
  }
}
