--- `ctx`: the one thing that a tool codes against (FL-CTX).
local native, shared = ...

local type, error, setmetatable, rawset = type, error, setmetatable, rawset

local function text_argument(value, name)
  if type(value) ~= "string" then error(name .. ": expected a string, got " .. type(value), 3) end
  return value
end

local namespaces = {}

function namespaces.path(facts)
  return {
    resolve = function(path)
      text_argument(path, "ctx.path.resolve")
      if path:sub(1, 1) == "/" then return path end
      local base = facts.dirname or facts.cwd
      path = path:gsub("^%./+", "")
      if path == "" or path == "." then return base end
      return (base:gsub("/+$", "")) .. "/" .. path
    end,
  }
end

function namespaces.sandbox()
  return {
    is_path_writable = function(path)
      return native.is_path_writable(text_argument(path, "ctx.sandbox.is_path_writable")) == true
    end,
    wrap_command = function(command)
      if type(command) == "string" then command = { "/bin/sh", "-c", command } end
      if type(command) ~= "table" or #command == 0 then
        return nil, "ctx.sandbox.wrap_command: expected a list of words"
      end
      return native.wrap_command(command)
    end,
  }
end

function namespaces.truncate()
  return shared.deep_copy(shared.truncate)
end

local function get_config(tool)
  return function()
    local settings = shared.config.tools[tool]
    if settings == nil then return nil end
    return shared.deep_copy(settings)
  end
end

--- Namespaces are made when they are first used.
function shared.context(tool, facts)
  local ctx = {
    bufnr = facts.bufnr,
    cwd = facts.cwd,
    timeout = shared.config.tools.default_timeout or facts.timeout,
    __dirname = facts.dirname,
    __filename = facts.filename,
    get_config = get_config(tool),
  }
  return setmetatable(ctx, {
    __index = function(self, name)
      local make = namespaces[name]
      if not make then return nil end
      local namespace = make(facts)
      rawset(self, name, namespace)
      return namespace
    end,
  })
end
