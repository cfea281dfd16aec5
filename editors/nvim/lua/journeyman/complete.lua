-- Completion in a document: statuses, roles, file references, and in front matter tools and presets.
local inspection = require("journeyman.inspection")

local M = {}

local roles = { "@System:", "@You:", "@Assistant:" }
local statuses = { "approved", "pending", "denied", "rejected" }
local presets = { "$readonly", "$default" }

--- The words that fit at a place of a line.
local function candidates(buffer, before)
  if before:match("status=%w*$") then
    return statuses, "%w*$"
  end
  if before:match("^@%w*$") then
    return roles, "@%w*$"
  end
  if before:match("@%.?%.?/%S*$") then
    local typed = before:match("@(%.?%.?/%S*)$")
    local root = vim.fs.dirname(vim.api.nvim_buf_get_name(buffer))
    local found = vim.fn.globpath(root, typed:gsub("^%./", "") .. "*", true, true)
    return vim.tbl_map(function(path)
      local suffix = vim.fn.isdirectory(path) == 1 and "/" or ""
      return "@./" .. path:sub(#root + 2) .. suffix
    end, found), "@%.?%.?/%S*$"
  end
  return vim.list_extend(vim.list_extend({}, inspection.tools(buffer)), presets), "[%w_$]*$"
end

function M.omnifunc(find_start, base)
  local buffer = vim.api.nvim_get_current_buf()
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local before = vim.api.nvim_get_current_line():sub(1, column)
  local words, pattern = candidates(buffer, find_start == 1 and before or before .. base)
  if find_start == 1 then
    return (before:find(pattern) or column + 1) - 1
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, base)
  end, words)
end

return M
