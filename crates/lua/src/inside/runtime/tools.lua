--- `require("flemma.tools")`: definitions and sources (FL-REG, FL-ASYNC).
local native, shared = ...

local type, error, pairs, ipairs, tostring = type, error, pairs, ipairs, tostring

local M = {}
local tools = {}
shared.tools = tools

local KINDS = {
  description = "string",
  input_schema = "table",
  execute = "function",
  format_preview = "function",
  strict = "boolean",
  async = "boolean",
  enabled = "boolean",
}
local NEEDED = { "description", "input_schema" }

local function check(name, definition)
  local function fault(text) error("tool `" .. tostring(name) .. "`: " .. text, 0) end
  if type(name) ~= "string" or name == "" then error("a tool needs a name", 0) end
  if type(definition) ~= "table" then fault("its definition must be a table") end
  if definition.name ~= nil and definition.name ~= name then
    fault("registered under another name than its own, `" .. tostring(definition.name) .. "`")
  end
  for _, field in ipairs(NEEDED) do
    if definition[field] == nil then fault("`" .. field .. "` is missing") end
  end
  for field, kind in pairs(KINDS) do
    local value = definition[field]
    if value ~= nil and type(value) ~= kind then
      fault("`" .. field .. "` must be a " .. kind .. ", not a " .. type(value))
    end
  end
end

local function register_one(name, definition)
  check(name, definition)
  native.tool({
    name = name,
    description = definition.description,
    input_schema = definition.input_schema,
    strict = definition.strict == true,
    enabled = definition.enabled ~= false,
    has_execute = definition.execute ~= nil,
    has_preview = definition.format_preview ~= nil,
  })
  tools[name] = definition
end

local function register_batch(definitions)
  for _, definition in ipairs(definitions) do
    if type(definition) ~= "table" then error("a batch of tools is a list of tables", 0) end
    register_one(definition.name, definition)
  end
end

-- Sources that have not ended, by their order.
local waiting = {}
shared.waiting_sources = waiting

local function add_source(name, resolve, timeout)
  if timeout ~= nil and (type(timeout) ~= "number" or timeout <= 0) then
    error("source `" .. name .. "`: `timeout` must be a number of seconds above 0", 0)
  end
  local seconds = timeout or shared.default_timeout()
  local source = { name = name, seconds = seconds, deadline = native.now() + seconds }
  waiting[source] = true
  native.source_began(name)
  function source.done(reason)
    if not waiting[source] then return end
    waiting[source] = nil
    shared.stop_jobs(source)
    native.source_ended(name, reason ~= nil and native.error_text(reason) or nil)
  end
  local function register(tool, definition)
    if not waiting[source] then
      return shared.warn("source `" .. name .. "` registered a tool after its end, which is ignored")
    end
    if type(tool) == "table" and definition == nil then return register_batch({ tool }) end
    register_one(tool, definition)
  end
  local ok, reason = shared.run_for(source, resolve, register, source.done)
  if not ok then source.done(reason) end
end

--- Ends the sources whose time is up; the time of the next one.
function shared.expire_sources(now)
  local nearest
  local late = {}
  for source in pairs(waiting) do
    if source.deadline <= now then
      late[#late + 1] = source
    elseif not nearest or source.deadline < nearest then
      nearest = source.deadline
    end
  end
  for _, source in ipairs(late) do
    source.done(("timed out after %g s without calling done()"):format(source.seconds))
  end
  return nearest
end

local function register_module(name)
  local module = shared.require(name)
  if type(module) ~= "table" then
    error("module `" .. name .. "` must return a table with `definitions` or `resolve`", 0)
  end
  if type(module.definitions) == "table" then return register_batch(module.definitions) end
  if type(module.resolve) == "function" then
    return add_source(name, module.resolve, module.timeout)
  end
  error("module `" .. name .. "` has neither `definitions` nor `resolve`", 0)
end

--- The one entry: a name and a definition, a module, a batch, a source.
function M.register(first, definition)
  local kind = type(first)
  if kind == "string" and definition ~= nil then return register_one(first, definition) end
  if kind == "string" then return register_module(first) end
  if kind == "function" then return add_source(native.where(first), first) end
  if kind == "table" and type(first.resolve) == "function" then
    return add_source(first.name or native.where(first.resolve), first.resolve, first.timeout)
  end
  if kind == "table" and first.name ~= nil then return register_one(first.name, first) end
  if kind == "table" and #first > 0 then return register_batch(first) end
  error("register: expected a name and a definition, a module's name, a list or a function", 2)
end

shared.loaded["flemma.tools"] = M
