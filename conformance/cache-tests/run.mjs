// node run.mjs SUITE BASE PROXY|- [ID…]
//
// Runs the tests of `http-cache-tests`, which is installed under SUITE, against BASE, through PROXY (host:port) if there
// is one; all of them, or those that are named. Prints a list of { group, id, kind, passed, why }.
//
// The suite's own runner starts a hundred tests at once, waits for the last of them, and starts the next hundred. Here one
// starts every few milliseconds: it takes less time, and no test waits for a crowd of others while its seconds run.

import http from 'node:http'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const STEP_MS = 15
// Its response ends with the origin's patience, after five seconds: it starts first, so that nobody waits for it.
const SLOWEST = 'headers-store-Transfer-Encoding'

const [suite, base, proxy, ...wanted] = process.argv.slice(2)

const load = name => import(pathToFileURL(path.join(suite, 'node_modules', name)).href)
const fetch = (await load('node-fetch/lib/index.mjs')).default
const config = await load('http-cache-tests/client/config.mjs')
const { makeCacheTest, testResults } = await load('http-cache-tests/client/test.mjs')
const groups = (await load('http-cache-tests/tests/index.mjs')).default
// Not in the suite's index: only surrogates are asked for it.
const surrogate = (await load('http-cache-tests/tests/surrogate-control.mjs')).default

/** Sends all requests to a proxy, in absolute form (RFC 9112 §3.2.2). */
class ProxyAgent extends http.Agent {
  constructor (address) {
    super({ keepAlive: true })
    const [host, port] = address.split(':')
    this.proxy = { host, port: Number(port) }
  }

  addRequest (request, options) {
    request.path = `http://${options.host}:${options.port}${request.path}`
    super.addRequest(request, { ...options, ...this.proxy })
  }
}

const agent = proxy === '-' ? new http.Agent({ keepAlive: true }) : new ProxyAgent(proxy)
config.setFetch((url, init) => fetch(url, { ...init, agent }))
config.setBaseUrl(base)
config.setUseBrowserCache(false)

const tests = [...groups, surrogate].flatMap(group => group.tests.map(test => ({ group: group.id, test })))
const chosen = tests.filter(({ test }) => !test.browser_only && (wanted.length === 0 || wanted.includes(test.id)))
chosen.sort((one, other) => (other.test.id === SLOWEST) - (one.test.id === SLOWEST))

const later = ms => new Promise(resolve => setTimeout(resolve, ms))
await Promise.all(chosen.map(async ({ test }, place) => {
  await later(place * STEP_MS)
  await makeCacheTest(test)
}))

const outcomes = chosen.map(({ group, test }) => {
  const result = testResults[test.id]
  const passed = result === true
  return { group, id: test.id, kind: test.kind || 'required', passed, why: passed ? '' : result.join(': ') }
})
process.stdout.write(JSON.stringify(outcomes), () => process.exit())
