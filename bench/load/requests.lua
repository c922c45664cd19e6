-- Sends every request of a file once, in order; the paths of the file and of the URL are arguments.
local ffi = require("ffi")
ffi.cdef("int getpid(void); int kill(int pid, int signal);")

local INTERRUPT = 2
local requests, sent = {}, 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    local token, body = line:match("^([^\t]+)\t(.*)$")
    requests[#requests + 1] = wrk.format("POST", arguments[2], {
      ["Authorization"] = "Bearer " .. token,
      ["Content-Type"] = "application/json",
    }, body)
  end
end

function request()
  sent = sent + 1
  local next = requests[sent]
  if next == nil then
    -- No request is sent twice: this one is for nobody, and the run ends. To stop the thread is not
    -- enough, because wrk itself sleeps until the time is over, unless it is interrupted.
    wrk.thread:stop()
    if sent == #requests + 1 then
      ffi.C.kill(ffi.C.getpid(), INTERRUPT)
    end
    return wrk.format("GET", "/healthz")
  end
  requests[sent] = false
  return next
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"answered": %d, "seconds": %.6f, "refused": %d, "failed": %d, "timeouts": %d, '
      .. '"p50": %.3f, "p99": %.3f, "most": %.3f}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write, errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
