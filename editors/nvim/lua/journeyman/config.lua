-- Settings, with their defaults.
local M = {}

M.options = {
  -- The program and the words before `chat`.
  command = { "jm" },
  -- `PROVIDER/NAME`; the configuration of jm decides where this is nil.
  model = nil,
  -- Further flags of `jm chat`, for example { "--no-auto" }.
  arguments = {},
  -- Where the cursor goes when a tool has run: "result", "stay" or "next".
  cursor_after_result = "result",
  keys = {
    send = "<C-]>",
    tool = "<M-CR>",
    cancel = "<C-c>",
    approve = "<LocalLeader>a",
    reject = "<LocalLeader>r",
    diff = "<LocalLeader>d",
    file = "gf",
    next = "<LocalLeader>n",
  },
}

local function known(given, defaults, path)
  for name, value in pairs(given) do
    if defaults[name] == nil and not (path == "" and name == "model") then
      error(("journeyman: unknown setting %s%s"):format(path, name), 0)
    end
    if type(defaults[name]) == "table" and not vim.islist(defaults[name]) then
      known(value, defaults[name], path .. name .. ".")
    end
  end
end

function M.set(given)
  known(given, M.options, "")
  M.options = vim.tbl_deep_extend("force", M.options, given)
end

return M
