--- The entries: what the program can ask for. Each call of a tool ends by `native.finish`, once.
local native, shared = ...

local next = next
local type, error, pairs, ipairs, tostring = type, error, pairs, ipairs, tostring

-- Calls that wait for their callback, with the function that cancels them.
local waiting = {}

local function is_answer(result)
  return type(result) == "table" and type(result.success) == "boolean"
end

local function answer_of(tool, result)
  if not is_answer(result) then
    local text = "tool `" .. tool .. "` returned no result: expected a table with `success`, got "
    return nil, text .. (type(result) == "table" and "one without it" or "a " .. type(result))
  end
  local reason = result.error
  return {
    success = result.success,
    output = result.output,
    error = reason ~= nil and native.error_text(reason) or nil,
  }
end

local function finish(id, tool, result)
  waiting[id] = nil
  shared.stop_jobs(id)
  local answer, fault = answer_of(tool, result)
  if answer then return native.finish(id, answer) end
  return native.fail(id, fault)
end

local entry = {}

function entry.start(chunk)
  local compiled, fault = native.load(chunk.text, chunk.name)
  if not compiled then error(fault, 0) end
  local ok, reason = shared.try(compiled)
  if not ok then error(reason, 0) end
end

function entry.execute(id, tool, input, facts)
  local definition = shared.tools[tool]
  if not definition then return native.fail(id, "unknown tool `" .. tool .. "`") end
  if not definition.execute then
    return native.fail(id, "tool `" .. tool .. "` has no `execute` function")
  end
  local is_over = false
  local function callback(result)
    if is_over then return shared.warn("tool `" .. tool .. "` called its callback again") end
    is_over = true
    if not finish(id, tool, result) then
      shared.warn("tool `" .. tool .. "` called its callback after its call had ended")
    end
  end
  waiting[id] = { tool = tool }
  local ok, result =
    shared.run_for(id, definition.execute, input, shared.context(tool, facts), callback)
  if is_over then return end
  if not ok then
    is_over = true
    waiting[id] = nil
    shared.stop_jobs(id)
    return native.fail(id, result)
  end
  if type(result) == "function" then
    waiting[id].cancel = result
  elseif result ~= nil or definition.async == false then
    callback(result)
  end
end

--- Tells a tool that its result is not wanted any more.
function entry.cancel(id)
  local call = waiting[id]
  waiting[id] = nil
  if call and call.cancel then
    local ok, reason = shared.run_for(id, call.cancel)
    if not ok then shared.log_error("cancel function of `" .. call.tool .. "`: " .. reason) end
  end
  shared.stop_jobs(id)
end

--- Nothing is left that could call a callback, so nothing ever will.
function entry.give_up()
  local lost = {}
  for id in pairs(waiting) do lost[#lost + 1] = id end
  for _, id in ipairs(lost) do
    local call = waiting[id]
    waiting[id] = nil
    native.fail(id, "tool `" .. call.tool .. "` neither returned a result nor can it call its callback")
  end
end

function entry.preview(tool, input, max_length)
  local definition = shared.tools[tool]
  if not (definition and definition.format_preview) then return nil end
  local ok, text = shared.try(definition.format_preview, input, max_length)
  if ok and type(text) == "string" then return text end
  local reason = ok and "it returned a " .. type(text) or text
  shared.log_error("format_preview of `" .. tool .. "`: " .. tostring(reason))
  return nil
end

--- The presets that `setup` defined, by their names.
function entry.presets()
  return shared.config.tools.presets or {}
end

entry.resolve = shared.resolve
entry.resolvers = shared.resolvers
entry.evaluate = shared.evaluate
entry.resolve_document = shared.resolve_document
entry.job_ended = shared.job_ended

--- Work that is due; when the next is, whether callbacks can still come, whether sources are at work.
function entry.tick(now)
  shared.run_for_nobody()
  local timer, can_happen = shared.run_due(now)
  local source = shared.expire_sources(now)
  local nearest = timer
  if source and (not nearest or source < nearest) then nearest = source end
  return nearest, can_happen, next(shared.waiting_sources) ~= nil
end

return entry
