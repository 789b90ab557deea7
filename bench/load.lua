-- Load for wrk: one transfer a request, or many. Arguments: key, file of account ids, how ids are
-- chosen (uniform or hot), transfers in a request.
local accounts, headers, how, many, count, run = {}, {}, "uniform", 1, 0, ""

function init(args)
  headers["x-api-key"] = args[1]
  headers["content-type"] = "application/json"
  for line in io.lines(args[2]) do accounts[#accounts + 1] = line end
  how = args[3]
  many = tonumber(args[4])
  local seed = io.open("/dev/urandom", "rb"):read(8)
  run = (seed:gsub(".", function(c) return string.format("%02x", c:byte()) end))
  math.randomseed(tonumber(run:sub(1, 7), 16))
end

local random = math.random
local function transfer()
  local n = #accounts
  local s, d = random(n), random(n - 1)
  if how == "hot" then
    s, d = 1, random(2, n)
    if random(2) == 1 then s, d = d, s end
  elseif d >= s then
    d = d + 1
  end
  return '{"source":{"account":"' .. accounts[s] .. '"},"destination":{"account":"' .. accounts[d]
    .. '"},"value":"1"}'
end

function request()
  count = count + 1
  headers["idempotency-key"] = run .. count
  if many == 1 then return wrk.format("POST", "/v1/transactions", headers, transfer()) end
  local moves = {}
  for i = 1, many do moves[i] = transfer() end
  local body = '{"atomic":false,"transactions":[' .. table.concat(moves, ",") .. "]}"
  return wrk.format("POST", "/v1/transactions/batch", headers, body)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n@{"requests":%d,"failed":%d,"micros":%d,"p50":%d,"p99":%d,"max":%d}\n', summary.requests,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration, latency:percentile(50), latency:percentile(99), latency.max))
end
