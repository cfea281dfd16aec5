-- One run of the program over a buffer: saved before, locked meanwhile, read again whenever the program wrote it.
local config = require("journeyman.config")
local inspection = require("journeyman.inspection")
local program = require("journeyman.program")

local M = {}

local namespace = vim.api.nvim_create_namespace("journeyman.run")
local frames = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" }
local frame_ms = 100
local shown_lines = 12
local runs = {}

--- Says one line so that it fits: a longer one would hold the editor until a key is pressed.
local function say(text, level)
  text = "jm: " .. text
  local room = math.max(vim.v.echospace, 20)
  if level ~= vim.log.levels.ERROR and not text:find("\n") and vim.fn.strdisplaywidth(text) > room then
    text = vim.fn.strcharpart(text, 0, room - 1) .. "…"
  end
  vim.notify(text, level or vim.log.levels.INFO)
end

function M.is_running(buffer)
  return runs[buffer] ~= nil
end

--- Files with unsaved changes in this editor: the agent must not write them behind its back.
local function protected(buffer)
  local words = {}
  local root = vim.fs.dirname(vim.api.nvim_buf_get_name(buffer))
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(other)
    local is_inside = name ~= "" and vim.startswith(name, root .. "/")
    if other ~= buffer and vim.bo[other].modified and vim.bo[other].buftype == "" and is_inside then
      local path = name:sub(#root + 2):gsub("[%[%]{}*?\\]", "\\%0")
      for _, tool in ipairs({ "write", "edit" }) do
        vim.list_extend(words, { "--deny", ("%s: %s"):format(tool, path) })
      end
    end
  end
  return words
end

--- Reads files again that the agent may have changed and this editor has not.
local function reread_others(buffer)
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    local is_file = vim.api.nvim_buf_is_loaded(other) and vim.bo[other].buftype == ""
    if other ~= buffer and is_file and not vim.bo[other].modified then
      vim.cmd(("silent! checktime %d"):format(other))
    end
  end
end

--- Puts the file's text into the buffer, changing only the lines that differ.
local function reload(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local file = io.open(name, "rb")
  if not file then
    return
  end
  local text = file:read("*a")
  file:close()
  local has_end = text:sub(-1) == "\n"
  local lines = vim.split(has_end and text:sub(1, -2) or text, "\n", { plain = true })
  if vim.bo[buffer].fileformat == "dos" then
    lines = vim.tbl_map(function(line)
      return (line:gsub("\r$", ""))
    end, lines)
  end
  local old = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  local first = 1
  while first <= #old and first <= #lines and old[first] == lines[first] do
    first = first + 1
  end
  local from_end = 0
  while from_end < #old - first + 1 and from_end < #lines - first + 1 and old[#old - from_end] == lines[#lines - from_end] do
    from_end = from_end + 1
  end
  local was = vim.bo[buffer].modifiable
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, first - 1, #old - from_end, false, vim.list_slice(lines, first, #lines - from_end))
  vim.bo[buffer].endofline = has_end
  vim.bo[buffer].modified = false
  -- The buffer is the file, and must know it: the next writing would ask about a file that changed.
  vim.cmd(("silent! noautocmd checktime %d"):format(buffer))
  vim.bo[buffer].modifiable = was
end

--- The spinner at each call that runs, and the end of an answer that streams.
local function draw(buffer)
  local run = runs[buffer]
  if not run or not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local sign = frames[run.frame % #frames + 1]
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  for _, line in pairs(run.executing) do
    local place = { virt_text = { { sign .. " executing", "JourneymanSpinner" } }, virt_text_pos = "eol" }
    vim.api.nvim_buf_set_extmark(buffer, namespace, math.min(line - 1, last), 0, place)
  end
  local below = {}
  if run.answer ~= "" then
    local lines = vim.split(run.answer, "\n", { plain = true })
    for number = math.max(#lines - shown_lines + 1, 1), #lines do
      table.insert(below, { { lines[number], "JourneymanAnswer" } })
    end
  end
  table.insert(below, { { ("%s working (%s stops it)"):format(sign, config.options.keys.cancel), "JourneymanSpinner" } })
  vim.api.nvim_buf_set_extmark(buffer, namespace, last, 0, { virt_lines = below })
end

--- Gives the buffer back, whatever happened.
local function unlock(buffer)
  local run = runs[buffer]
  runs[buffer] = nil
  if run and run.timer then
    run.timer:stop()
    run.timer:close()
  end
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  end
end

local function put_cursor(buffer, line)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    local last = vim.api.nvim_buf_line_count(buffer)
    vim.api.nvim_win_set_cursor(window, { math.min(math.max(line, 1), last), 0 })
  end
end

local function follow(buffer, run, ended)
  local where = config.options.cursor_after_result
  if ended and ended.reason == "pending" and ended.line then
    put_cursor(buffer, ended.line)
  elseif where == "next" or (ended and ended.reason == "finished" and where ~= "stay") then
    put_cursor(buffer, vim.api.nvim_buf_line_count(buffer))
  elseif where == "result" and run.tool then
    for _, call in ipairs(inspection.calls(buffer)) do
      if call.id == run.tool then
        put_cursor(buffer, call.line)
      end
    end
  end
end

local function handle(buffer, event)
  local run = runs[buffer]
  if not run then
    return
  end
  if event.type == "text" then
    run.answer = run.answer .. (event.text or "")
  elseif event.type == "document" then
    reload(buffer)
    run.answer = ""
    run.executing = {}
    for _, call in ipairs(event.calls or {}) do
      if call.status == "approved" then
        run.executing[call.id] = call.line
      end
    end
    reread_others(buffer)
  elseif event.type == "executing" then
    for _, call in ipairs(event.calls or {}) do
      run.executing[call.id] = call.line
    end
  elseif event.type == "note" and event.text then
    say(event.text)
  elseif event.type == "end" then
    run.ended = event
  end
  draw(buffer)
end

local function finished(buffer, code, errors)
  local run = runs[buffer]
  unlock(buffer)
  if not run or not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  reload(buffer)
  local ended = run.ended
  if ended and ended.message then
    local is_calm = ended.reason == "pending" or ended.reason == "nothing_to_send" or ended.reason == "override"
    say(ended.message, is_calm and vim.log.levels.WARN or vim.log.levels.ERROR)
  elseif not ended then
    local why = vim.trim(errors) ~= "" and vim.trim(errors) or ("ended with exit code %d"):format(code)
    say(why .. "\nThe document is as it was last written; send it again to continue.", vim.log.levels.ERROR)
  end
  inspection.refresh(buffer, function()
    follow(buffer, run, ended)
  end)
  vim.api.nvim_exec_autocmds("User", { pattern = "JourneymanFinished", data = { buffer = buffer, ended = ended } })
end

--- Saves the buffer and runs `jm chat` over it.
function M.start(buffer, more, tool)
  if runs[buffer] then
    say(("already working; %s stops it"):format(config.options.keys.cancel), vim.log.levels.WARN)
    return
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  local is_saved, why = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd("silent write")
  end)
  if not is_saved then
    say("not saved: " .. tostring(why), vim.log.levels.ERROR)
    return
  end
  local words = { "--json" }
  local model = vim.b[buffer].journeyman_model or config.options.model
  if model and not tool then
    vim.list_extend(words, { "--model", model })
  end
  vim.list_extend(words, config.options.arguments)
  vim.list_extend(words, protected(buffer))
  vim.list_extend(words, more)
  local run = { answer = "", executing = {}, frame = 0, tool = tool }
  runs[buffer] = run
  local process, failure = program.start(program.words(name, words), { cwd = vim.fs.dirname(name) }, {
    event = function(event)
      handle(buffer, event)
    end,
    ended = function(code, errors)
      finished(buffer, code, errors)
    end,
  })
  if not process then
    unlock(buffer)
    say(failure, vim.log.levels.ERROR)
    return
  end
  run.process = process
  if tool then
    for _, call in ipairs(inspection.calls(buffer)) do
      if call.id == tool then
        run.executing[tool] = call.line
      end
    end
  end
  vim.bo[buffer].modifiable = false
  run.timer = vim.uv.new_timer()
  run.timer:start(0, frame_ms, vim.schedule_wrap(function()
    run.frame = run.frame + 1
    draw(buffer)
  end))
end

--- Asks the program to stop; it writes down what it has.
function M.cancel(buffer)
  local run = runs[buffer]
  if not run then
    return false
  end
  run.process:kill("sigint")
  return true
end

--- Ends the program with the buffer it worked on.
function M.forget(buffer)
  local run = runs[buffer]
  if run then
    run.process:kill("sigterm")
    unlock(buffer)
  end
end

return M
