--- `require("flemma").setup{…}`: settings, and the resolvers that follow from them (FL-APPROVE).
local native, shared = ...

local type, error, pairs, ipairs, tostring = type, error, pairs, ipairs, tostring
local approval = shared.approval

local CONFIG = "urn:flemma:approval:config"
local CATCH_ALL = "urn:flemma:approval:catch-all"
local CONFIG_PRIORITY = 100

-- Names that are ours in `tools`; every other one there is a tool's own settings.
local TOOL_SETTINGS = {
  auto_approve = { table = true, ["function"] = true, string = true },
  presets = { table = true },
  require_approval = { boolean = true },
  default_timeout = { number = true },
  cursor_after_result = { string = true },
}
local from_setup = {}

local function put(name, priority, description, resolve)
  if priority == CONFIG_PRIORITY then shared.approval_settings[name] = resolve end
  approval.register(name, { priority = priority, description = description, resolve = resolve })
  from_setup[#from_setup + 1] = name
end

local function put_module(name)
  put(name, CONFIG_PRIORITY, "tools.auto_approve (module)", shared.policy_of(name))
end

local function is_module(name)
  return type(name) == "string" and name:sub(1, 1) ~= "$" and name:find(".", 1, true) ~= nil
end

local function put_auto_approve(policy)
  if type(policy) == "string" then
    if policy:sub(1, 1) ~= "$" then return put_module(policy) end
    policy = { policy }
  end
  if type(policy) == "function" then
    return put(CONFIG, CONFIG_PRIORITY, "tools.auto_approve (function)", policy)
  end
  local names = {}
  for _, name in ipairs(policy) do
    if is_module(name) then put_module(name) else names[#names + 1] = name end
  end
  put(CONFIG, CONFIG_PRIORITY, "tools.auto_approve", shared.list_resolver(names))
end

local function check_presets(presets)
  for name, preset in pairs(presets) do
    local is_right = type(name) == "string" and name:sub(1, 1) == "$" and type(preset) == "table"
    if not is_right then error("tools.presets: names begin with `$`, values are tables", 0) end
    for field in pairs(preset) do
      if field ~= "approve" and field ~= "deny" then
        error("preset `" .. name .. "` has `approve` and `deny`, not `" .. tostring(field) .. "`", 0)
      end
    end
  end
end

local function check_tools(tools)
  for name, value in pairs(tools) do
    local kinds = TOOL_SETTINGS[name]
    if kinds and not kinds[type(value)] then
      error("setup: `tools." .. name .. "` cannot be a " .. type(value), 0)
    end
    local near = not kinds and type(value) ~= "table" and native.suggest(name, shared.quoted(TOOL_SETTINGS))
    if near then
      shared.warn("setup: `tools." .. name .. "` is no setting; did you mean `" .. near .. "`?")
    end
  end
  check_presets(tools.presets or {})
end

local M = {}

--- A second call replaces the settings of the first.
function M.setup(settings)
  if settings ~= nil and type(settings) ~= "table" then error("setup: expected a table", 2) end
  local config = shared.deep_copy(settings or {})
  if config.tools ~= nil and type(config.tools) ~= "table" then
    error("setup: `tools` must be a table", 2)
  end
  config.tools = config.tools or {}
  check_tools(config.tools)
  shared.config = config
  for _, name in ipairs(from_setup) do approval.unregister(name) end
  from_setup = {}
  local policy = config.tools.auto_approve
  put_auto_approve(policy == nil and native.default_auto_approve or policy)
  if config.tools.require_approval == false then
    put(CATCH_ALL, 0, "tools.require_approval = false", function() return "approve" end)
  end
end

shared.loaded["flemma"] = M
