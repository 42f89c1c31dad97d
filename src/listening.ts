import type { FastifyInstance } from 'fastify'
import { StoreRefused } from './store/port.ts'

interface Place {
  readonly host: string
  readonly port: number
  /** What listens there, and how its settings begin: `the console`, `CONSOLE`. */
  readonly name: string
  readonly prefix: string
}

/** Resolves to the port; rejects with a StoreRefused that says what to set. */
export async function listenAt(
  server: FastifyInstance,
  { host, port, name, prefix }: Place,
): Promise<number> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(code)) throw error
    throw new StoreRefused(
      `${name} cannot listen: ${message}: set ${prefix}_PORT or ${prefix}_HOST`,
    )
  }
  const [address] = server.addresses()
  return typeof address === 'object' ? address.port : port
}
