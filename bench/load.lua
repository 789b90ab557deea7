-- Load for wrk: one transfer a request, or many. Arguments: key, file of account ids, how ids are
-- chosen (uniform, hot or collect), transfers in a request, connections; and, for another service, the
-- file of a request's form, in which SOURCE, DESTINATION and KEY stand for what differs.
local accounts, headers, how, many, count, run = {}, {}, "uniform", 1, 0, ""
local threads, path, form = {}, nil, nil

function setup(thread) threads[#threads + 1] = thread end

-- The path, a line for each header, an empty one, and the body.
function readForm(file)
  local text = io.open(file):read("*a")
  local head, body = text:match("^(.-)\n\n(.*)$")
  path, form = head:match("^[^\n]+"), body
  headers["x-api-key"] = nil
  for name, value in head:gmatch("\n([^:\n]+): ([^\n]*)") do headers[name] = value end
end

function init(args)
  headers["x-api-key"] = args[1]
  headers["content-type"] = "application/json"
  for line in io.lines(args[2]) do accounts[#accounts + 1] = line end
  how = args[3]
  many = tonumber(args[4])
  connections = tonumber(args[5]) -- for done, which runs in a state of its own
  if args[6] then readForm(args[6]) end
  local seed = io.open("/dev/urandom", "rb"):read(8)
  run = (seed:gsub(".", function(c) return string.format("%02x", c:byte()) end))
  math.randomseed(tonumber(run:sub(1, 7), 16))
end

local random = math.random
local function pair()
  local n = #accounts
  local s, d = random(n), random(n - 1)
  if how == "uniform" then
    if d >= s then d = d + 1 end
  else
    s, d = random(2, n), 1
    if how == "hot" and random(2) == 1 then s, d = d, s end
  end
  return accounts[s], accounts[d]
end

local function transfer()
  local source, destination = pair()
  return '{"source":{"account":"' .. source .. '"},"destination":{"account":"' .. destination
    .. '"},"value":"1"}'
end

local function formed(key)
  local values = { KEY = key }
  values.SOURCE, values.DESTINATION = pair()
  local filled = {}
  for name, value in pairs(headers) do filled[name] = value:gsub("%u+", values) end
  return wrk.format("POST", path, filled, (form:gsub("%u+", values)))
end

function request()
  count = count + 1
  if form then return formed(run .. count) end
  headers["idempotency-key"] = run .. count
  if many == 1 then return wrk.format("POST", "/v1/transactions", headers, transfer()) end
  local moves = {}
  for i = 1, many do moves[i] = transfer() end
  local body = '{"atomic":false,"transactions":[' .. table.concat(moves, ",") .. "]}"
  return wrk.format("POST", "/v1/transactions/batch", headers, body)
end

-- Takes back wrk's correction of times. It adds to the table of latencies (microseconds, counts) what it
-- would have sent at its mean interval while it waited; from the longest time on, each addition is known.
local function uncorrected(data, max, interval)
  local counts = {}
  for n = 0, max do counts[n] = tonumber(data[n]) end
  for n = max, 2 * interval, -1 do
    local count = counts[n]
    local m = n - interval
    while count > 0 and m > interval do
      counts[m] = counts[m] - count
      m = m - interval
    end
  end
  return counts
end

-- The table lies behind count, limit, min and max (wrk 4.0 to 4.2, src/stats.h).
local function raw(summary, latency)
  local found, ffi = pcall(require, "ffi")
  if not found then return nil end
  local stats = ffi.cast("uint64_t **", latency)[0]
  local min, max = tonumber(stats[2]), tonumber(stats[3])
  if min ~= latency.min or max ~= latency.max then return nil end
  local each = math.floor(summary.requests / threads[1]:get("connections"))
  local interval = each < 1 and max or math.floor(summary.duration / each) -- wrk corrects nothing below one each
  local counts = uncorrected(stats + 4, max, interval)
  local total = 0
  for n = 0, max do total = total + counts[n] end
  return total == summary.requests and counts or nil
end

local function percentile(counts, of, share)
  local rank, seen = math.ceil(of * share), 0
  for n = 0, #counts do
    seen = seen + counts[n]
    if seen >= rank then return n end
  end
end

function done(summary, latency)
  local errors, requests = summary.errors, summary.requests
  local counts = raw(summary, latency)
  local p50, p99 = latency:percentile(50), latency:percentile(99)
  if counts then p50, p99 = percentile(counts, requests, 0.5), percentile(counts, requests, 0.99) end
  io.write(string.format(
    '\n@{"requests":%d,"failed":%d,"micros":%d,"p50":%d,"p99":%d,"max":%d,"corrected":%s}\n', requests,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration, p50, p99, latency.max, tostring(counts == nil)))
end
