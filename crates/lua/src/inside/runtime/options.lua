--- `flemma.opt` of a document: lists with operators, functions, parameters (FL-BUFFER, FL-PARAM).
local native, shared = ...

local type, error, pairs, ipairs, tostring = type, error, pairs, ipairs, tostring
local setmetatable, getmetatable, rawget, rawset = setmetatable, getmetatable, rawget, rawset

local FRONTMATTER = "urn:flemma:approval:frontmatter"
local documents = {}

-- Kinds of value that a general parameter may have.
local PARAMETERS = {
  thinking = { string = true, number = true, boolean = true },
  cache_retention = { string = true },
  max_tokens = { number = true },
  temperature = { number = true },
}
local PROVIDERS = { anthropic = true, openai = true, vertex = true }

local List = {}

local function is_list(value)
  return type(value) == "table" and getmetatable(value) == List
end

local function names_of(value)
  if is_list(value) then return rawget(value, "values") end
  if type(value) == "string" then return { value } end
  if type(value) ~= "table" then error("expected a name or a list of names, got a " .. type(value), 0) end
  return value
end

-- `check` judges a name; it raises an error for one that means nothing.
local function new_list(values, removed, check)
  local list = { values = {}, removed = {}, check = check }
  for name in pairs(removed or {}) do list.removed[name] = true end
  for _, name in ipairs(values) do
    check(name)
    list.values[#list.values + 1] = name
  end
  return setmetatable(list, List)
end

local function without(values, name)
  local left = {}
  for _, value in ipairs(values) do
    if value ~= name then left[#left + 1] = value end
  end
  return left
end

local methods = {}

function methods.append(list, value)
  for _, name in ipairs(names_of(value)) do
    rawget(list, "check")(name)
    rawget(list, "removed")[name] = nil
    local left = without(rawget(list, "values"), name)
    left[#left + 1] = name
    rawset(list, "values", left)
  end
end

function methods.prepend(list, value)
  local names = names_of(value)
  for index = #names, 1, -1 do
    local name = names[index]
    rawget(list, "check")(name)
    rawget(list, "removed")[name] = nil
    local left = without(rawget(list, "values"), name)
    table.insert(left, 1, name)
    rawset(list, "values", left)
  end
end

function methods.remove(list, value)
  for _, name in ipairs(names_of(value)) do
    rawget(list, "check")(name)
    rawget(list, "removed")[name] = true
    rawset(list, "values", without(rawget(list, "values"), name))
  end
end

function methods.get(list)
  return shared.deep_copy(rawget(list, "values"))
end

local function changed(list, value, method)
  local new = new_list(rawget(list, "values"), rawget(list, "removed"), rawget(list, "check"))
  for key, field in pairs(list) do
    if rawget(new, key) == nil then rawset(new, key, field) end
  end
  methods[method](new, value)
  return new
end

List.__index = function(list, name)
  if methods[name] then return methods[name] end
  local fields = rawget(list, "fields")
  if fields then return fields.get(name) end
  return nil
end
List.__newindex = function(list, name, value)
  local fields = rawget(list, "fields")
  if not fields then error("a list has no field `" .. tostring(name) .. "`", 2) end
  fields.set(name, value)
end
List.__add = function(list, value) return changed(list, value, "append") end
List.__sub = function(list, value) return changed(list, value, "remove") end
List.__pow = function(list, value) return changed(list, value, "prepend") end
List.__len = function(list) return #rawget(list, "values") end

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

local function check_tool(known)
  return function(name)
    if type(name) ~= "string" then error("a tool's name is a string", 0) end
    if not known[name] then
      error("unknown tool `" .. name .. "`" .. shared.did_you_mean(name, known), 0)
    end
  end
end

local function check_approved(name)
  if type(name) ~= "string" then error("`auto_approve` is a list of names", 0) end
  if name:sub(1, 1) == "$" then shared.check_preset(name) end
end

-- `flemma.opt.tools` is a list, and has `auto_approve`.
local function tool_fields(options)
  return {
    get = function(name)
      if name ~= "auto_approve" then
        error("unknown option `tools." .. tostring(name) .. "`"
          .. shared.did_you_mean(tostring(name), { auto_approve = true }), 3)
      end
      if options.auto_approve == nil then options.auto_approve = new_list({ "$default" }, {}, check_approved) end
      return options.auto_approve
    end,
    set = function(name, value)
      if name ~= "auto_approve" then
        error("unknown option `tools." .. tostring(name) .. "`"
          .. shared.did_you_mean(tostring(name), { auto_approve = true }), 3)
      end
      if type(value) == "string" and value:sub(1, 1) ~= "$" and value:find(".", 1, true) then
        value = shared.policy_of(value)
      end
      if value == nil or type(value) == "function" then
        options.auto_approve = value
      else
        local removed = is_list(value) and rawget(value, "removed") or {}
        options.auto_approve = new_list(names_of(value), removed, check_approved)
      end
    end,
  }
end

local function provider(options, name)
  options.providers[name] = options.providers[name] or {}
  return options.providers[name]
end

local function set_parameter(options, name, value)
  local kinds = PARAMETERS[name]
  if value ~= nil and not kinds[type(value)] then
    error("option `" .. name .. "` cannot be a " .. type(value), 3)
  end
  options.parameters[name] = value
end

local function unknown_option(name)
  local names = { tools = true }
  for known in pairs(PARAMETERS) do names[known] = true end
  for known in pairs(PROVIDERS) do names[known] = true end
  error("unknown option `" .. tostring(name) .. "`" .. shared.did_you_mean(tostring(name), names), 3)
end

local function tools_list(options, values, removed)
  local list = new_list(values, removed, check_tool(options.known))
  rawset(list, "fields", tool_fields(options))
  return list
end

local function new_opt(options)
  return setmetatable({}, {
    __index = function(_, name)
      if name == "tools" then
        options.tools = options.tools or tools_list(options, options.enabled, {})
        return options.tools
      end
      if PROVIDERS[name] then return provider(options, name) end
      if PARAMETERS[name] then return options.parameters[name] end
      unknown_option(name)
    end,
    __newindex = function(_, name, value)
      if name == "tools" then
        options.tools = tools_list(options, names_of(value), {})
      elseif PROVIDERS[name] then
        if type(value) ~= "table" then error("option `" .. name .. "` must be a table", 2) end
        options.providers[name] = shared.deep_copy(value)
      elseif PARAMETERS[name] then
        set_parameter(options, name, value)
      else
        unknown_option(name)
      end
    end,
  })
end

-- Looking at the list, or at what hangs on it, chooses nothing.
local function chosen(options)
  local tools = options.tools and rawget(options.tools, "values")
  if not tools or table.concat(tools, "\0") == table.concat(options.enabled, "\0") then return nil end
  return native.list(shared.deep_copy(tools))
end

--- Each evaluation starts from the defaults.
function shared.evaluate(document, chunk, known, enabled)
  local options = { known = set_of(known), enabled = enabled, parameters = {}, providers = {} }
  local environment = setmetatable({ flemma = { opt = new_opt(options) } }, { __index = _G })
  local compiled, fault = native.load(chunk.text, chunk.name, environment)
  if not compiled then error(fault, 0) end
  compiled()
  local policy = options.auto_approve
  local has_list = is_list(policy)
  if has_list then
    policy = shared.list_resolver(rawget(policy, "values"), rawget(policy, "removed"))
  end
  documents[document] = policy
  return {
    tools = chosen(options),
    has_resolver = policy ~= nil,
    has_list = has_list,
    parameters = options.parameters,
    providers = options.providers,
  }
end

function shared.resolve_document(document, tool, input, context)
  local policy = documents[document]
  if not policy then return nil end
  local verdict = shared.verdict(FRONTMATTER, policy, tool, input, shared.resolver_facts(context))
  return verdict and { verdict = verdict, by = FRONTMATTER }
end
