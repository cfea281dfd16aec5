-- From the key to "executing" at an approved call: `JM=target/release/jm editors/nvim/tests/nvim --headless --clean -l editors/nvim/tests/bench.lua`.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, "S").source:sub(2)))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
vim.opt.swapfile = false
vim.cmd("filetype plugin on")
vim.cmd.runtime("plugin/journeyman.lua")
vim.notify = function() end

local rounds = 21
local root = vim.fn.resolve(vim.fn.tempname())
vim.fn.mkdir(root, "p")
vim.env.JM_STATE_DIR = root .. ".state"
vim.env.XDG_CONFIG_HOME = root .. ".config"
local jm = assert(os.getenv("JM"), "JM names the program")
require("journeyman").setup({ command = { jm }, arguments = { "--no-auto" } })
local running = require("journeyman.run")
local space = vim.api.nvim_create_namespace("journeyman.run")
local document = [==[
@You:
Wait.

@Assistant:
**Tool Use:** `bash` (`w`)

```json
{"label": "wait", "command": "sleep 0.3", "timeout": null}
```
]==]

local function is_executing(buffer)
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
    for _, piece in ipairs(mark[4].virt_text or {}) do
      if piece[1]:find("executing", 1, true) then
        return true
      end
    end
  end
  return false
end

local times = {}
for round = 1, rounds do
  local path = ("%s/%d.chat"):format(root, round)
  local file = assert(io.open(path, "w"))
  file:write(document)
  file:close()
  vim.cmd.edit(path)
  local buffer = vim.api.nvim_get_current_buf()
  require("journeyman").send()
  assert(vim.wait(20000, function()
    return not running.is_running(buffer)
  end, 5), "it is never pending")
  require("journeyman").approve()
  assert(vim.wait(20000, function()
    return vim.fn.search("status=approved", "nw") > 0
  end, 5), "it is never approved")
  local key = vim.api.nvim_replace_termcodes("<C-]>", true, false, true)
  local began = vim.uv.hrtime()
  vim.api.nvim_feedkeys(key, "x", false)
  assert(vim.wait(20000, function()
    return is_executing(buffer)
  end, 1), "it never executes")
  table.insert(times, (vim.uv.hrtime() - began) / 1e6)
  assert(vim.wait(20000, function()
    return not running.is_running(buffer)
  end, 5))
end
table.sort(times)
print(("from key to executing, %d rounds: p50 %.1f ms, max %.1f ms (goal: 50 ms)"):format(rounds, times[(rounds + 1) / 2], times[rounds]))
vim.fn.delete(root, "rf")
vim.fn.delete(root .. ".state", "rf")
