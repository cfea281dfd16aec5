-- The program: started for one command, its output read line by line, never waited for.
local config = require("journeyman.config")

local M = {}

--- The words of a `jm chat` command over a document.
function M.words(file, more)
  local words = vim.list_extend({}, config.options.command)
  vim.list_extend(words, { "chat" })
  vim.list_extend(words, more)
  vim.list_extend(words, { "--", file })
  return words
end

--- Starts the program. `on.event` gets each JSON object, `on.ended` the exit code and the error output.
--- Returns the process, or nil and why there is none.
function M.start(words, options, on)
  local rest, errors = "", {}
  local function take(text)
    rest = rest .. text
    while true do
      local at = rest:find("\n", 1, true)
      if not at then
        return
      end
      local line = rest:sub(1, at - 1)
      rest = rest:sub(at + 1)
      local is_json, event = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
      if is_json and type(event) == "table" then
        on.event(event)
      end
    end
  end
  local is_started, process = pcall(vim.system, words, {
    cwd = options.cwd,
    stdin = options.stdin,
    env = { NO_COLOR = "1" },
    text = false,
    stdout = function(_, data)
      if data then
        vim.schedule(function()
          take(data)
        end)
      end
    end,
    stderr = function(_, data)
      if data then
        table.insert(errors, data)
      end
    end,
  }, function(ended)
    vim.schedule(function()
      on.ended(ended.code ~= 0 and ended.code or (ended.signal ~= 0 and 128 + ended.signal or 0), table.concat(errors))
    end)
  end)
  if not is_started then
    return nil, ("cannot start %s: is it installed and in PATH? (:checkhealth journeyman)"):format(words[1])
  end
  return process
end

return M
