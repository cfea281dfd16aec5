--- `ctx.truncate`: the two ends of a long text, whole lines at a time (FL-CTX).
local _, shared = ...

local M = { MAX_LINES = 2000, MAX_BYTES = 51200 }

local format, byte, sub, floor, concat = string.format, string.byte, string.sub, math.floor, table.concat

function M.format_size(bytes)
  if bytes < 1024 then return format("%d B", floor(bytes)) end
  if bytes < 1024 * 1024 then return format("%.1f KB", bytes / 1024) end
  return format("%.1f MB", bytes / (1024 * 1024))
end

local function lines_of(text)
  local lines = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  return lines
end

-- A cut inside a character would leave bytes that are no text.
local function starts_character(text, at)
  local code = byte(text, at)
  return not code or code < 0x80 or code >= 0xC0
end

local function first_bytes(line, most)
  while most > 0 and not starts_character(line, most + 1) do most = most - 1 end
  return sub(line, 1, most)
end

local function last_bytes(line, most)
  local from = #line - most + 1
  while from <= #line and not starts_character(line, from) do from = from + 1 end
  return sub(line, from)
end

-- `pick(n)` is the place of the n-th line from the end that is kept.
local function keep(text, options, pick, part)
  options = options or {}
  local most_lines = options.max_lines or M.MAX_LINES
  local most_bytes = options.max_bytes or M.MAX_BYTES
  local lines = lines_of(text)
  local total, kept, bytes, reason = #lines, {}, 0, nil
  for number = 1, total do
    if number > most_lines then reason = "lines" break end
    local line = lines[pick(number, total)]
    local cost = #line + (number > 1 and 1 or 0)
    if bytes + cost > most_bytes then
      reason = "bytes"
      if number == 1 then kept[1] = part(line, most_bytes) end
      break
    end
    bytes = bytes + cost
    kept[number] = line
  end
  return kept, { total_lines = total, total_bytes = #text, truncated_by = reason, truncated = reason ~= nil }
end

local function result(content, kept, facts)
  facts.content, facts.output_lines, facts.output_bytes = content, #kept, #content
  return facts
end

--- Keeps the beginning.
function M.truncate_head(text, options)
  local kept, facts = keep(text, options, function(number) return number end, first_bytes)
  return result(facts.truncated and concat(kept, "\n") or text, kept, facts)
end

--- Keeps the end.
function M.truncate_tail(text, options)
  local kept, facts = keep(text, options, function(number, total) return total - number + 1 end, last_bytes)
  local turned = {}
  for index = #kept, 1, -1 do turned[#turned + 1] = kept[index] end
  return result(facts.truncated and concat(turned, "\n") or text, kept, facts)
end

shared.truncate = M
