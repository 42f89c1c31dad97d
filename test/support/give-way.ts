import { setPriority } from 'node:os'

// They run beside tests that assert the time of answers, and take what those leave.
setPriority(10)
