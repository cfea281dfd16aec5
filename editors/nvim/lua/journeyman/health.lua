-- :checkhealth journeyman
local config = require("journeyman.config")

local M = {}

local function run(words)
  local is_started, process = pcall(vim.system, words, { text = true, timeout = 10000 })
  if not is_started then
    return nil
  end
  return process:wait()
end

function M.check()
  vim.health.start("journeyman")
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim is 0.10 or newer")
  else
    vim.health.error("Neovim is older than 0.10")
  end
  local words = vim.list_extend({}, config.options.command)
  local version = run(vim.list_extend(vim.list_extend({}, words), { "--version" }))
  if not version or version.code ~= 0 then
    vim.health.error(("cannot run %s"):format(words[1]), {
      "install it: cargo install --path crates/jm",
      'or name it: require("journeyman").setup({ command = { "/path/to/jm" } })',
    })
    return
  end
  vim.health.ok(vim.trim(version.stdout))
  local inspected = run(vim.list_extend(words, { "chat", "--help" }))
  if inspected and inspected.stdout:find("--inspect", 1, true) then
    vim.health.ok("jm supports --inspect")
  else
    vim.health.error("jm is too old: it does not support `jm chat --inspect`")
  end
  if config.options.model then
    vim.health.ok("model: " .. config.options.model)
  else
    vim.health.info("no model set in Neovim; jm uses its configuration (`jm config`)")
  end
end

return M
