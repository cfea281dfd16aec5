-- What the program says about a buffer's text: calls, blocks to fold, findings. Asked again when the text changes.
local program = require("journeyman.program")

local M = {}

local namespace = vim.api.nvim_create_namespace("journeyman")
local delay_ms = 150
local states = {}

local function state(buffer)
  states[buffer] = states[buffer] or { calls = {}, blocks = {}, tools = {}, folds = {}, waiting = {} }
  return states[buffer]
end

function M.calls(buffer)
  return state(buffer).calls
end

function M.tools(buffer)
  return state(buffer).tools
end

--- The bytes that writing the buffer would give.
local function bytes(buffer)
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
  return vim.bo[buffer].endofline and text .. "\n" or text
end

--- A line that is too long for the window ends with an ellipsis; the program has already folded line ends.
local function fitted(text, width)
  if vim.api.nvim_strwidth(text) <= width then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(width - 1, 0)) .. "…"
end

local function width_of(buffer)
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then
    return 80
  end
  return vim.api.nvim_win_get_width(window) - vim.fn.getwininfo(window)[1].textoff
end

local function show(buffer, seen)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local last = vim.api.nvim_buf_line_count(buffer)
  local width = width_of(buffer)
  for _, call in ipairs(seen.calls) do
    if call.body_line and not call.typed and call.preview then
      local lines = { { { fitted(call.preview, width), "FlemmaToolPreview" } } }
      if call.error then
        table.insert(lines, { { fitted("would fail: " .. call.error:gsub("\n", " "), width), "DiagnosticWarn" } })
      end
      local row = math.min(call.body_line - 1, last) - 1
      vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, { virt_lines = lines })
    end
  end
  local findings = vim.tbl_map(function(one)
    local severity = vim.diagnostic.severity[one.severity == "error" and "ERROR" or "WARN"]
    return { lnum = one.line - 1, col = one.column - 1, message = one.message, severity = severity, source = "jm" }
  end, seen.findings)
  vim.diagnostic.set(namespace, buffer, findings)
end

--- Thoughts and calls that are answered fold inside their section; what waits for somebody stays in sight.
local function fold_table(seen)
  local waits = {}
  for _, call in ipairs(seen.calls) do
    if call.status ~= "result" and call.status ~= "error" then
      waits[call.line] = true
      waits[call.result_line or 0] = true
    end
  end
  local inner = { tool_use = true, tool_result = true, thinking = true }
  local folds = {}
  for _, block in ipairs(seen.blocks) do
    if not inner[block.kind] then
      for line = block.line, block.end_line do
        folds[line] = 1
      end
      folds[block.line] = ">1"
    end
  end
  for _, block in ipairs(seen.blocks) do
    if inner[block.kind] and not waits[block.line] then
      for line = block.line + 1, block.end_line do
        folds[line] = 2
      end
      folds[block.line] = ">2"
    end
  end
  return folds
end

--- Makes Neovim ask for the folds again; those that somebody opened stay open.
local function fold_anew(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    if vim.wo[window].foldmethod == "expr" then
      vim.wo[window].foldmethod = "expr"
    end
  end
end

--- The fold level of a line; the ranges are the program's.
function M.fold(line)
  return state(vim.api.nvim_get_current_buf()).folds[line] or "="
end

--- Asks the program about the buffer's text, and calls back when it has answered.
function M.refresh(buffer, done)
  if not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  local kept = state(buffer)
  if done then
    table.insert(kept.waiting, done)
  end
  if kept.process then
    kept.again = true
    return
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  local seen
  local started, why = program.start(
    program.words(name, { "--inspect", "--stdin" }),
    { cwd = vim.fs.dirname(name), stdin = bytes(buffer) },
    {
      event = function(event)
        seen = event.type == "inspection" and event or seen
      end,
      ended = function(_, errors)
        kept.process = nil
        if not vim.api.nvim_buf_is_valid(buffer) then
          states[buffer] = nil
          return
        end
        if kept.again then
          kept.again = false
          M.refresh(buffer)
          return
        end
        if seen then
          kept.calls, kept.blocks, kept.tools = seen.calls, seen.blocks, seen.tools
          local folds = fold_table(seen)
          if not vim.deep_equal(folds, kept.folds) then
            kept.folds = folds
            fold_anew(buffer)
          end
          show(buffer, seen)
        end
        local waiting = kept.waiting
        kept.waiting = {}
        for _, callback in ipairs(waiting) do
          callback(seen ~= nil, errors)
        end
      end,
    }
  )
  kept.process = started
  if not started then
    kept.waiting = {}
    if done then
      done(false, why)
    end
  end
end

--- The same, a moment after the last change.
function M.refresh_later(buffer)
  local kept = state(buffer)
  kept.timer = kept.timer or vim.uv.new_timer()
  kept.timer:start(delay_ms, 0, vim.schedule_wrap(function()
    M.refresh(buffer)
  end))
end

function M.forget(buffer)
  local kept = states[buffer]
  if kept and kept.timer then
    kept.timer:stop()
    kept.timer:close()
  end
  states[buffer] = nil
end

--- The call whose blocks the cursor is in, or the first one that waits below it.
function M.call_at(buffer, line)
  local nearest
  for _, call in ipairs(M.calls(buffer)) do
    for _, block in ipairs(state(buffer).blocks) do
      local is_its = block.line == call.line or block.line == call.result_line
      if is_its and block.line <= line and line <= block.end_line then
        return call
      end
    end
    if call.status == "pending" and (call.result_line or 0) >= line then
      nearest = nearest or call
    end
  end
  return nearest
end

return M
