-- The load that wrk makes: the paths in turn, each connection kept or not; at the end, one line of JSON.
-- Arguments: keep|close, and a path with %d for 1..count, and count.

function init(args)
  local head = {}
  if args[1] == "close" then
    head["Connection"] = "close"
  end
  local count = tonumber(args[3])
  wrk.headers = head
  wrk.headers["Host"] = "www.bench.test"
  if count == 1 then
    wrk.path = string.format(args[2], 1)
    return
  end
  local requests = {}
  for number = 1, count do
    requests[number] = wrk.format("GET", string.format(args[2], number))
  end
  local turn = 0
  function request()
    turn = turn % count + 1
    return requests[turn]
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"micros":%d,"bytes":%d,"connect_errors":%d,"read_errors":%d,"write_errors":%d,' ..
    '"status_errors":%d,"timeouts":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, summary.bytes, errors.connect, errors.read, errors.write,
    errors.status, errors.timeout, latency:percentile(50), latency:percentile(99)))
end
