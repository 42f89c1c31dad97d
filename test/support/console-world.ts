import { request } from 'node:http'
import { type RunningServer, type ServerSettings, startServer, until } from './server.ts'

export interface ConsoleWorld {
  readonly server: RunningServer
  readonly port: number
  readonly url: string
}

/** A server with a console, on free ports. */
export async function startConsoleServer(settings: ServerSettings): Promise<ConsoleWorld> {
  const env = { CONSOLE_PORT: '0', ...settings.env }
  const server = await startServer({ ...settings, env })
  const port = await consolePortOf(server)
  return { server, port, url: `http://localhost:${port}` }
}

export async function consolePortOf(server: RunningServer): Promise<number> {
  let port = 0
  await until(async () => {
    port = Number(/"consolePort":(\d+)/.exec(server.output())?.[1] ?? 0)
    return port !== 0
  })
  return port
}

export interface Asked {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** A request with the headers as they are given: `fetch` would not send another Host or Origin. */
export function askConsole(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method, path, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      )
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
