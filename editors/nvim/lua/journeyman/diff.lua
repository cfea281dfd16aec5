-- A pending edit in Neovim's own diff: the file on one side, what it would become on the other.
local M = {}

--- Applies a unified diff to lines; nil where it does not fit them.
local function applied(lines, diff)
  local result, at = {}, 1
  local rows = vim.split(diff, "\n", { plain = true })
  local number = 1
  while number <= #rows do
    local first = rows[number]:match("^@@ %-(%d+)")
    if not first then
      number = number + 1
    else
      local start = math.max(tonumber(first), 1)
      vim.list_extend(result, vim.list_slice(lines, at, start - 1))
      at = start
      number = number + 1
      while number <= #rows and not rows[number]:find("^@@ ") do
        local mark, text = rows[number]:sub(1, 1), rows[number]:sub(2)
        if mark == "+" then
          table.insert(result, text)
        elseif mark == " " or mark == "-" then
          if lines[at] ~= text then
            return nil
          end
          if mark == " " then
            table.insert(result, text)
          end
          at = at + 1
        elseif mark ~= "\\" then
          break
        end
        number = number + 1
      end
    end
  end
  return vim.list_extend(result, vim.list_slice(lines, at))
end

local function scratch(lines, name, filetype)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = filetype or ""
  pcall(vim.api.nvim_buf_set_name, buffer, name)
  vim.keymap.set("n", "q", "<Cmd>tabclose<CR>", { buffer = buffer, desc = "jm: close the diff" })
  return buffer
end

function M.open(buffer, call)
  if not call.diff or call.diff == "" then
    vim.notify(("jm: %s changes no file that can be shown"):format(call.name), vim.log.levels.WARN)
    return
  end
  local root = vim.fs.dirname(vim.api.nvim_buf_get_name(buffer))
  local path = call.path and (call.path:sub(1, 1) == "/" and call.path or vim.fs.joinpath(root, call.path))
  local is_there = path and vim.uv.fs_stat(path) ~= nil
  local is_read, lines = pcall(vim.fn.readfile, path or "")
  local after = applied(is_there and is_read and lines or {}, call.diff)
  vim.cmd.tabnew()
  if not path or not after then
    vim.api.nvim_win_set_buf(0, scratch(vim.split(call.diff, "\n", { plain = true }), "jm://" .. call.id, "diff"))
    return
  end
  local filetype = vim.filetype.match({ filename = path })
  vim.api.nvim_win_set_buf(0, scratch(is_there and lines or {}, "jm://now/" .. call.id, filetype))
  vim.cmd.diffthis()
  vim.cmd("rightbelow vsplit")
  vim.api.nvim_win_set_buf(0, scratch(after, "jm://proposed/" .. call.id, filetype))
  vim.cmd.diffthis()
end

M.applied = applied

return M
