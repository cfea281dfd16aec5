--- `require("flemma.tools.approval")`: the chain of resolvers, and lists with presets
--- (FL-RESOLVE, FL-APPROVE, FL-PRESET).
local native, shared = ...

local type, error, pairs, ipairs, tostring = type, error, pairs, ipairs, tostring

local M = {}
local DEFAULT_PRIORITY = 50
local resolvers, last_order = {}, 0

-- The functions that stand for `tools.auto_approve`, by the names they are registered under.
local settings = {}
shared.approval_settings = settings

local function sorted()
  local all = {}
  for _, entry in pairs(resolvers) do all[#all + 1] = entry end
  table.sort(all, function(left, right)
    if left.priority ~= right.priority then return left.priority > right.priority end
    return left.order < right.order
  end)
  return all
end

local function copy(entry)
  return {
    name = entry.name,
    priority = entry.priority,
    description = entry.description,
    resolve = entry.resolve,
  }
end

function M.register(name, definition)
  if type(name) ~= "string" or name == "" then error("a resolver needs a name", 2) end
  if type(definition) ~= "table" or type(definition.resolve) ~= "function" then
    error("resolver `" .. name .. "`: `resolve` must be a function", 2)
  end
  local priority = definition.priority or DEFAULT_PRIORITY
  if type(priority) ~= "number" then
    error("resolver `" .. name .. "`: `priority` must be a number", 2)
  end
  last_order = last_order + 1
  resolvers[name] = {
    name = name,
    priority = priority,
    description = definition.description,
    resolve = definition.resolve,
    order = last_order,
  }
end

function M.unregister(name)
  local was = resolvers[name] ~= nil
  resolvers[name] = nil
  return was
end

function M.get(name)
  return resolvers[name] and copy(resolvers[name])
end

function M.get_all()
  local all = {}
  for index, entry in ipairs(sorted()) do all[index] = copy(entry) end
  return all
end

function M.count()
  return #sorted()
end

local VERDICTS = {
  [true] = "approve",
  [false] = "require_approval",
  approve = "approve",
  require_approval = "require_approval",
  deny = "deny",
}

--- The answer of one resolver; an error is logged and passes.
function shared.verdict(name, resolve, tool, input, context)
  local ok, answer = shared.try(resolve, tool, input, context)
  if not ok then
    shared.log_error("resolver `" .. name .. "` failed and is skipped: " .. answer)
    return nil
  end
  if answer == nil then return nil end
  local verdict = VERDICTS[answer]
  if not verdict then
    shared.log_error("resolver `" .. name .. "` is skipped: it returned " .. native.error_text(answer)
      .. " instead of \"approve\", \"require_approval\", \"deny\" or nil")
  end
  return verdict
end

local function facts(context)
  return { bufnr = context.bufnr, tool_id = context.tool_id }
end
shared.resolver_facts = facts

--- One resolver by its name, or the first that answers.
function shared.resolve(name, tool, input, context)
  for _, entry in ipairs(name and { resolvers[name] } or sorted()) do
    local verdict =
      shared.verdict(entry.name, entry.resolve, tool, shared.deep_copy(input), facts(context))
    if verdict then return { verdict = verdict, by = entry.name } end
  end
  return nil
end

function shared.resolvers()
  local all = {}
  for index, entry in ipairs(sorted()) do
    all[index] = {
      name = entry.name,
      priority = entry.priority // 1 | 0,
      description = entry.description,
      is_setting = settings[entry.name] == entry.resolve,
    }
  end
  return native.list(all)
end

local PRESETS = {
  ["$readonly"] = { approve = { "read" } },
  ["$default"] = { approve = { "read", "write", "edit" } },
}

function shared.preset(name)
  local own = shared.config.tools.presets
  if type(own) == "table" and own[name] then return own[name] end
  return PRESETS[name]
end

--- An unknown preset must not pass for an empty one: it may have been meant to deny.
function shared.check_preset(name)
  if shared.preset(name) then return end
  local names = {}
  for known in pairs(PRESETS) do names[known] = true end
  for known in pairs(shared.config.tools.presets or {}) do names[known] = true end
  error("there is no preset `" .. tostring(name) .. "`" .. shared.did_you_mean(name, names), 0)
end

--- The resolver of a list: names and presets; deny wins; `removed` reaches into presets.
function shared.list_resolver(list, removed)
  removed = removed or {}
  for _, name in ipairs(list) do
    if type(name) ~= "string" then error("`auto_approve` is a list of names", 0) end
    if name:sub(1, 1) == "$" then shared.check_preset(name) end
  end
  return function(tool)
    local is_approved = false
    for _, name in ipairs(list) do
      if name:sub(1, 1) ~= "$" then
        is_approved = is_approved or name == tool
      else
        local preset = shared.preset(name) or {}
        for _, denied in ipairs(preset.deny or {}) do
          if denied == tool and not removed[tool] then return "deny" end
        end
        for _, approved in ipairs(preset.approve or {}) do
          is_approved = is_approved or (approved == tool and not removed[tool])
        end
      end
    end
    if is_approved then return "approve" end
    return nil
  end
end

--- The function that a policy module exports.
function shared.policy_of(name)
  local module = shared.require(name)
  if type(module) == "function" then return module end
  if type(module) == "table" and type(module.resolve) == "function" then return module.resolve end
  error("policy module `" .. name .. "` must return a function, or a table with `resolve`", 0)
end

shared.approval = M
shared.loaded["flemma.tools.approval"] = M
