-- Filetype and commands of `.chat` documents. Everything else is loaded when the first one is opened.
if vim.g.loaded_journeyman then
  return
end
vim.g.loaded_journeyman = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.api.nvim_echo({ { "journeyman needs Neovim 0.10 or newer", "ErrorMsg" } }, true, {})
  return
end

vim.filetype.add({ extension = { chat = "chat" } })

local actions = { "send", "tool", "approve", "reject", "cancel", "diff", "file", "next", "log" }

vim.api.nvim_create_user_command("Journeyman", function(command)
  local action = command.fargs[1] or "send"
  local journeyman = require("journeyman")
  if not vim.tbl_contains(actions, action) then
    journeyman.fail(("unknown action: %s (actions: %s)"):format(action, table.concat(actions, ", ")))
    return
  end
  journeyman[action](table.concat(vim.list_slice(command.fargs, 2), " "))
end, {
  nargs = "*",
  desc = "Work with the .chat document in this buffer",
  complete = function(lead)
    return vim.tbl_filter(function(action)
      return vim.startswith(action, lead)
    end, actions)
  end,
})
