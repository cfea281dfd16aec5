--- What every other part needs: copies, errors, settings, `require` and log messages.
local native, shared = ...

-- Held here, so that a script which changes its globals does not change ours.
local type, pairs, error, pcall, tostring = type, pairs, error, pcall, tostring
local setmetatable, getmetatable, select = setmetatable, getmetatable, select
local concat, sort = table.concat, table.sort

local function deep_copy(value, seen)
  if type(value) ~= "table" then return value end
  seen = seen or {}
  if seen[value] then return seen[value] end
  local copy = {}
  seen[value] = copy
  for key, field in pairs(value) do copy[deep_copy(key, seen)] = deep_copy(field, seen) end
  return setmetatable(copy, getmetatable(value))
end
shared.deep_copy = deep_copy

function shared.warn(text) native.log("warn", text) end
function shared.log_error(text) native.log("error", text) end

--- Runs a function of the script; its error is a text.
function shared.try(callback, ...)
  local function outcome(ok, ...)
    if ok then return true, ... end
    return false, native.error_text((...))
  end
  return outcome(pcall(callback, ...))
end

function shared.quoted(names)
  local all = {}
  for name in pairs(names) do all[#all + 1] = tostring(name) end
  sort(all)
  return all
end

--- The end of a message about a name that nothing has.
function shared.did_you_mean(name, names)
  local near = native.suggest(name, shared.quoted(names))
  if near then return "; did you mean `" .. near .. "`?" end
  return ""
end

-- Settings, as `setup` left them.
shared.config = { tools = {} }

function shared.default_timeout()
  local seconds = shared.config.tools.default_timeout
  return type(seconds) == "number" and seconds > 0 and seconds or native.default_timeout
end

-- Modules. The program reads the files: a confined script need not.
local loaded, loading = {}, {}
shared.loaded = loaded

function shared.require(name)
  if type(name) ~= "string" then error("require: the name of a module is a string", 2) end
  if loaded[name] ~= nil then return loaded[name] end
  if loading[name] then error("module `" .. name .. "` requires itself", 2) end
  local file, reason = native.module(name)
  if not file then
    error("module `" .. name .. "` not found" .. (reason and (": " .. reason) or " in lua/"), 2)
  end
  local chunk, fault = native.load(file.text, file.name)
  if not chunk then error(fault, 0) end
  loading[name] = true
  local ok, value = pcall(chunk, name)
  loading[name] = nil
  if not ok then error(value, 0) end
  if value == nil then value = true end
  loaded[name] = value
  return value
end

function print(...)
  local words = {}
  for index = 1, select("#", ...) do words[index] = tostring((select(index, ...))) end
  native.log("info", concat(words, "\t"))
end

require = shared.require
