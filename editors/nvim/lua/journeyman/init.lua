-- Actions on the `.chat` document in the current buffer. The logic is in the program (`jm chat`).
local config = require("journeyman.config")
local inspection = require("journeyman.inspection")
local run = require("journeyman.run")

local M = {}

function M.setup(options)
  config.set(options or {})
end

function M.fail(text)
  vim.notify("jm: " .. text, vim.log.levels.ERROR)
end

local function here()
  local buffer = vim.api.nvim_get_current_buf()
  if vim.bo[buffer].filetype ~= "chat" then
    M.fail("this buffer is not a .chat document")
    return nil
  end
  return buffer
end

--- The call at the cursor, looked up in the text as it is now.
local function with_call(act)
  local buffer = here()
  if not buffer then
    return
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  inspection.refresh(buffer, function(is_known, errors)
    local call = is_known and inspection.call_at(buffer, line)
    if call then
      act(buffer, call)
    else
      M.fail(is_known and "no tool call at the cursor, and none is pending below it" or vim.trim(errors))
    end
  end)
end

--- Runs the cycle: categorize, execute, send.
function M.send()
  local buffer = here()
  if buffer then
    run.start(buffer, {})
  end
end

--- Runs the one tool at the cursor.
function M.tool()
  with_call(function(buffer, call)
    run.start(buffer, { "--tool", call.id }, call.id)
  end)
end

local function set_status(buffer, call, status, message)
  if not call.status_line then
    M.fail(("%s is not pending: its status is %s"):format(call.id, call.status))
    return false
  end
  local row, column = call.status_line - 1, call.status_column - 1
  vim.api.nvim_buf_set_text(buffer, row, column, row, column + call.status_length, { status })
  if message and message ~= "" then
    local body = call.body_line - 1
    vim.api.nvim_buf_set_lines(buffer, body, body, false, vim.split(message, "\n", { plain = true }))
  end
  inspection.refresh(buffer)
  return true
end

--- Approves the call at the cursor. Sending runs it.
function M.approve()
  with_call(function(buffer, call)
    set_status(buffer, call, "approved")
  end)
end

--- Rejects the call at the cursor; the model is told the reason.
function M.reject(reason)
  with_call(function(buffer, call)
    if reason and reason ~= "" then
      set_status(buffer, call, "rejected", reason)
      return
    end
    vim.ui.input({ prompt = "Reason (empty for none): " }, function(answer)
      if answer then
        set_status(buffer, call, "rejected", answer)
      end
    end)
  end)
end

function M.cancel()
  local buffer = here()
  if buffer and not run.cancel(buffer) then
    vim.notify("jm: nothing is running")
  end
end

--- Shows what the edit at the cursor would change.
function M.diff()
  with_call(function(buffer, call)
    require("journeyman.diff").open(buffer, call)
  end)
end

--- Opens the file that the call at the cursor names; elsewhere, the file under the cursor.
function M.file()
  local buffer = here()
  if not buffer then
    return
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local call = inspection.call_at(buffer, line)
  local path = vim.fn.expand("<cfile>"):gsub("^@//", "/"):gsub("^@", "")
  if call and call.path and not vim.api.nvim_get_current_line():find("@%.?%.?[~/]") then
    path = call.path
  end
  if path:sub(1, 1) ~= "/" and path:sub(1, 1) ~= "~" then
    path = vim.fs.joinpath(vim.fs.dirname(vim.api.nvim_buf_get_name(buffer)), path)
  end
  if vim.uv.fs_stat(vim.fs.normalize(path)) then
    vim.cmd.edit(vim.fn.fnameescape(path))
  else
    M.fail("no such file: " .. path)
  end
end

--- Moves to the next call that waits.
function M.next()
  local buffer = here()
  if not buffer then
    return
  end
  inspection.refresh(buffer, function()
    local line = vim.api.nvim_win_get_cursor(0)[1]
    local first, after
    for _, call in ipairs(inspection.calls(buffer)) do
      if call.status == "pending" then
        first = first or call.result_line
        after = after or (call.result_line > line and call.result_line)
      end
    end
    if first then
      vim.api.nvim_win_set_cursor(0, { after or first, 0 })
    else
      vim.notify("jm: nothing is pending")
    end
  end)
end

--- Opens the journal of this document in a terminal.
function M.log()
  local buffer = here()
  if buffer then
    local words = vim.list_extend({}, config.options.command)
    vim.list_extend(words, { "log", "--root", vim.fs.dirname(vim.api.nvim_buf_get_name(buffer)) })
    vim.cmd("botright new")
    vim.fn.jobstart(words, { term = true })
  end
end

--- Keys, events and the first look at a buffer.
function M.attach(buffer)
  for action, key in pairs(config.options.keys) do
    if key and key ~= "" then
      vim.keymap.set("n", key, function()
        M[action]()
      end, { buffer = buffer, desc = "jm: " .. action })
    end
  end
  local send = config.options.keys.send
  if send and send ~= "" then
    vim.keymap.set("i", send, function()
      vim.cmd.stopinsert()
      M.send()
    end, { buffer = buffer, desc = "jm: send" })
  end
  local group = vim.api.nvim_create_augroup("journeyman." .. buffer, {})
  vim.api.nvim_create_autocmd({ "TextChanged", "InsertLeave", "BufWritePost" }, {
    group = group,
    buffer = buffer,
    callback = function()
      inspection.refresh_later(buffer)
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = buffer,
    callback = function()
      run.forget(buffer)
      inspection.forget(buffer)
    end,
  })
  inspection.refresh(buffer)
end

return M
