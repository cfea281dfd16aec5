-- The plugin in a real Neovim against the real program: `JM=path/to/jm editors/nvim/tests/nvim -l editors/nvim/tests/run.lua`.
-- Each case has a directory and a buffer of its own. The model is a script.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, "S").source:sub(2)))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
vim.opt.swapfile = false
-- The cursor can stand behind the last character, as it does while one types.
vim.opt.virtualedit = "onemore"
vim.cmd("filetype plugin on")
vim.cmd("syntax on")
vim.cmd.runtime("plugin/journeyman.lua")

local jm = assert(os.getenv("JM"), "JM names the program")
local journeyman = require("journeyman")
local patience_ms = 60000
local said = {}

vim.notify = function(text)
  table.insert(said, text)
end

local function until_it_holds(what, holds)
  if not vim.wait(patience_ms, holds, 10) then
    error("waited in vain for: " .. what .. "\nsaid: " .. vim.inspect(said), 2)
  end
end

local function same(found, expected)
  if not vim.deep_equal(found, expected) then
    error(("expected %s\nfound %s"):format(vim.inspect(expected), vim.inspect(found)), 2)
  end
end

local function contains(text, part)
  if not text:find(part, 1, true) then
    error(("%q is not in:\n%s"):format(part, text), 2)
  end
end

local function text_of(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

local function write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function read(path)
  local file = assert(io.open(path, "r"))
  local text = file:read("*a")
  file:close()
  return text
end

--- A project with a document, its scripts, and the document open in this window.
local function project(files, options)
  local root = vim.fn.resolve(vim.fn.tempname())
  for name, text in pairs(files) do
    write(vim.fs.joinpath(root, name), text)
  end
  said = {}
  vim.env.JM_STATE_DIR = root .. ".state"
  vim.env.XDG_CONFIG_HOME = root .. ".config"
  require("journeyman.config").options.arguments = {}
  journeyman.setup(vim.tbl_extend("force", {
    command = { jm },
    model = "script:" .. root .. "/model.toml",
    cursor_after_result = "result",
  }, options or {}))
  vim.cmd("silent! tabonly | silent! only")
  vim.cmd.edit(vim.fs.joinpath(root, "t.chat"))
  return root, vim.api.nvim_get_current_buf()
end

local function finished(buffer)
  local running = require("journeyman.run")
  until_it_holds("the run's end", function()
    return not running.is_running(buffer)
  end)
  local is_looked_at = false
  require("journeyman.inspection").refresh(buffer, function()
    is_looked_at = true
  end)
  until_it_holds("an inspection", function()
    return is_looked_at
  end)
end

local function send(buffer)
  vim.api.nvim_set_current_buf(buffer)
  journeyman.send()
  finished(buffer)
end

local function virtual_lines(buffer)
  local space = vim.api.nvim_create_namespace("journeyman")
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      table.insert(found, { mark[2] + 1, line[1][1], line[1][2] })
    end
  end
  return found
end

local asks = [==[
[[turn]]
steps = [
  { text = "I greet." },
  { call = "bash", id = "b", arguments = '{"label":"greet","command":"echo hello","timeout":null}' },
]
]==]
local answers = '[[turn]]\nexpect = { results_contain = ["%s"] }\nsteps = [{ text = "%s" }]\n'

local cases = {}

function cases.a_whole_conversation_with_an_approval()
  local root, buffer = project({ ["t.chat"] = "@You:\nGreet.\n", ["model.toml"] = asks })
  send(buffer)
  contains(text_of(buffer), "```flemma:tool status=pending")
  contains(table.concat(said, "\n"), "b needs approval")
  local shown = virtual_lines(buffer)
  same(#shown, 1)
  same(shown[1][3], "FlemmaToolPreview")
  contains(shown[1][2], "echo hello")
  same(vim.api.nvim_get_current_line(), "**Tool Result:** `b`")
  write(root .. "/model.toml", answers:format("hello", "Greeted."))
  journeyman.approve()
  until_it_holds("the approval", function()
    return text_of(buffer):find("status=approved", 1, true) ~= nil
  end)
  send(buffer)
  contains(text_of(buffer), "@Assistant:\nGreeted.\n\n@You:")
  same(vim.bo[buffer].modifiable, true)
  same(vim.bo[buffer].modified, false)
  same(text_of(buffer) .. "\n", read(root .. "/t.chat"))
end

function cases.the_spinner_stands_at_the_call_that_runs()
  local waits = asks:gsub("echo hello", "while ! [ -e go ]; do sleep 0.02; done")
  local root, buffer = project({ ["t.chat"] = "@You:\nWait.\n", ["model.toml"] = waits })
  send(buffer)
  write(root .. "/model.toml", answers:format("no output", "Waited."))
  journeyman.approve()
  until_it_holds("the approval", function()
    return text_of(buffer):find("status=approved", 1, true) ~= nil
  end)
  journeyman.send()
  local space = vim.api.nvim_create_namespace("journeyman.run")
  local at
  until_it_holds("the spinner", function()
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
      local text = mark[4].virt_text
      if text and text[1][1]:find("executing", 1, true) then
        at = vim.api.nvim_buf_get_lines(buffer, mark[2], mark[2] + 1, false)[1]
      end
    end
    return at ~= nil
  end)
  same(at, "**Tool Use:** `bash` (`b`)")
  write(root .. "/go", "")
  finished(buffer)
  contains(text_of(buffer), "Waited.")
end

function cases.a_rejection_tells_the_reason()
  local root, buffer = project({ ["t.chat"] = "@You:\nGreet.\n", ["model.toml"] = asks })
  send(buffer)
  write(root .. "/model.toml", answers:format("not on my machine", "A pity."))
  vim.cmd("Journeyman reject not on my machine")
  until_it_holds("the rejection", function()
    return text_of(buffer):find("status=rejected\nnot on my machine\n```", 1, true) ~= nil
  end)
  send(buffer)
  contains(text_of(buffer), "(error)\n\n```\nnot on my machine\n```")
  contains(text_of(buffer), "A pity.")
end

function cases.one_tool_runs_by_itself_and_the_cursor_is_at_its_call()
  local _, buffer = project({ ["t.chat"] = "@You:\nGreet.\n", ["model.toml"] = asks })
  send(buffer)
  journeyman.tool()
  until_it_holds("the result", function()
    return text_of(buffer):find("```\nhello\n", 1, true) ~= nil
  end)
  finished(buffer)
  until_it_holds("the cursor at the call", function()
    return vim.api.nvim_get_current_line() == "**Tool Use:** `bash` (`b`)"
  end)
end

function cases.the_buffer_is_locked_while_it_works_and_a_key_stops_it()
  local slow = '[[turn]]\nsteps = [{ text = "Slowly" }, { delay_ms = 60000 }, { text = "." }]\n'
  local _, buffer = project({ ["t.chat"] = "@You:\nHello\n", ["model.toml"] = slow })
  journeyman.send()
  same(vim.bo[buffer].modifiable, false)
  local space = vim.api.nvim_create_namespace("journeyman.run")
  until_it_holds("the streamed answer", function()
    local marks = vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })
    return vim.inspect(marks):find("Slowly", 1, true) ~= nil
  end)
  journeyman.cancel()
  finished(buffer)
  same(vim.bo[buffer].modifiable, true)
  contains(text_of(buffer), "Slowly")
  contains(text_of(buffer), "<!-- flemma:aborted:")
end

function cases.a_program_that_is_killed_gives_the_buffer_back()
  local slow = '[[turn]]\nsteps = [{ text = "Slowly" }, { delay_ms = 60000 }]\n'
  local root, buffer = project({ ["t.chat"] = "@You:\nHello\n", ["model.toml"] = slow })
  journeyman.send()
  until_it_holds("the program", function()
    return vim.fn.system({ "pgrep", "-f", "chat --json .*" .. root }) ~= ""
  end)
  vim.fn.system({ "pkill", "-KILL", "-f", "chat --json .*" .. root })
  finished(buffer)
  same(vim.bo[buffer].modifiable, true)
  contains(table.concat(said, "\n"), "send it again to continue")
  write(root .. "/model.toml", '[[turn]]\nsteps = [{ text = "Here I am." }]\n')
  send(buffer)
  contains(text_of(buffer), "Here I am.")
end

function cases.a_file_with_unsaved_changes_is_not_written()
  local edits = [==[
[[turn]]
steps = [{ call = "write", id = "w", arguments = '{"label":"notes","path":"notes.txt","content":"theirs\n"}' }]
[[turn]]
steps = [{ text = "I could not." }]
]==]
  local root, buffer = project({ ["t.chat"] = "@You:\nWrite.\n", ["model.toml"] = edits, ["notes.txt"] = "old\n" })
  vim.cmd.split(root .. "/notes.txt")
  local other = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(other, 0, -1, false, { "mine" })
  send(buffer)
  same(read(root .. "/notes.txt"), "old\n")
  same(text_of(other), "mine")
  contains(text_of(buffer), "(error)")
  vim.bo[other].modified = false
end

function cases.a_saved_file_is_read_again_when_the_agent_wrote_it()
  local edits = [==[
[[turn]]
steps = [{ call = "write", id = "w", arguments = '{"label":"notes","path":"notes.txt","content":"theirs\n"}' }]
[[turn]]
steps = [{ text = "Written." }]
]==]
  local root, buffer = project({ ["t.chat"] = "@You:\nWrite.\n", ["model.toml"] = edits, ["notes.txt"] = "old\n" })
  vim.o.autoread = true
  vim.cmd.split(root .. "/notes.txt")
  local other = vim.api.nvim_get_current_buf()
  send(buffer)
  contains(text_of(buffer), "Written.")
  until_it_holds("the file in its buffer", function()
    return text_of(other) == "theirs"
  end)
end

function cases.a_pending_edit_is_shown_in_a_diff()
  local document = table.concat({
    "@You:", "Edit.", "", "@Assistant:", "**Tool Use:** `edit` (`e`)", "", "```json",
    '{"label":"fix","path":"notes.txt","oldText":"two","newText":"zwei"}', "```", "",
    "@You:", "**Tool Result:** `e`", "", "```flemma:tool status=pending", "```", "",
  }, "\n")
  local _, buffer = project({ ["t.chat"] = document, ["model.toml"] = "", ["notes.txt"] = "one\ntwo\nthree\n" })
  vim.api.nvim_win_set_cursor(0, { 12, 0 })
  journeyman.diff()
  until_it_holds("the diff", function()
    return #vim.api.nvim_list_tabpages() == 2 and #vim.api.nvim_tabpage_list_wins(0) == 2
  end)
  local sides = vim.tbl_map(function(window)
    return { vim.wo[window].diff, text_of(vim.api.nvim_win_get_buf(window)) }
  end, vim.api.nvim_tabpage_list_wins(0))
  same(sides, { { true, "one\ntwo\nthree" }, { true, "one\nzwei\nthree" } })
  vim.cmd.tabclose()
  same(vim.api.nvim_get_current_buf(), buffer)
  journeyman.file()
  same(vim.fs.basename(vim.api.nvim_buf_get_name(0)), "notes.txt")
end

function cases.findings_are_diagnostics_with_their_place()
  local _, buffer = project({ ["t.chat"] = "@You:\nHello\n\n@assistant:\nHi\n", ["model.toml"] = "" })
  finished(buffer)
  local found = vim.diagnostic.get(buffer)
  same(#found, 1)
  same({ found[1].lnum, found[1].severity }, { 3, vim.diagnostic.severity.WARN })
  contains(found[1].message, "Unknown role")
end

function cases.sections_fold_and_calls_once_they_are_answered()
  local _, buffer = project({ ["t.chat"] = "@You:\nGreet.\n", ["model.toml"] = asks })
  send(buffer)
  same(vim.fn.foldclosed(vim.api.nvim_win_get_cursor(0)[1]), -1)
  journeyman.tool()
  until_it_holds("the result", function()
    return text_of(buffer):find("```\nhello\n", 1, true) ~= nil
  end)
  finished(buffer)
  local levels = {}
  for line = 1, vim.api.nvim_buf_line_count(buffer) do
    local text = vim.api.nvim_buf_get_lines(buffer, line - 1, line, false)[1]
    if text:find("^@") or text:find("^%*%*") then
      table.insert(levels, { text, require("journeyman.inspection").fold(line) })
    end
  end
  same(levels, {
    { "@You:", ">1" },
    { "@Assistant:", ">1" },
    { "**Tool Use:** `bash` (`b`)", ">2" },
    { "@You:", ">1" },
    { "**Tool Result:** `b`", ">2" },
  })
end

function cases.statuses_roles_and_tools_are_completed()
  local _, buffer = project({ ["t.chat"] = "@You:\nx\n", ["model.toml"] = "", ["notes.txt"] = "" })
  finished(buffer)
  local complete = require("journeyman.complete").omnifunc
  local function at(line, base)
    vim.api.nvim_buf_set_lines(buffer, 1, 2, false, { line })
    vim.api.nvim_win_set_cursor(0, { 2, #line })
    return complete(0, base)
  end
  same(at("```flemma:tool status=", "app"), { "approved" })
  same(at("", "@As"), { "@Assistant:" })
  same(at("see ", "calculator_"), { "calculator_async" })
  same(at("", "$re"), { "$readonly" })
  same(at("see @./", "no"), {})
end

function cases.a_program_that_is_not_there_is_named()
  local _, buffer = project({ ["t.chat"] = "@You:\nHello\n", ["model.toml"] = "" }, { command = { "no-such-jm" } })
  journeyman.send()
  contains(table.concat(said, "\n"), "cannot start no-such-jm")
  same(vim.bo[buffer].modifiable, true)
end

function cases.a_misspelt_setting_is_an_error()
  local is_set, why = pcall(journeyman.setup, { keys = { sned = "x" } })
  same({ is_set, why }, { false, "journeyman: unknown setting keys.sned" })
end

function cases.the_health_check_knows_the_program()
  project({ ["t.chat"] = "@You:\n", ["model.toml"] = "" })
  vim.cmd("checkhealth journeyman")
  contains(text_of(vim.api.nvim_get_current_buf()), "jm supports --inspect")
end

function cases.the_help_has_its_tags()
  vim.cmd("silent helptags " .. vim.fs.joinpath(vim.fs.dirname(here), "doc"))
  vim.cmd("help :Journeyman")
  contains(vim.api.nvim_get_current_line(), ":Journeyman")
  os.remove(vim.fs.joinpath(vim.fs.dirname(here), "doc/tags"))
end

local names = vim.tbl_keys(cases)
table.sort(names)
local failed = 0
for _, name in ipairs(names) do
  local is_right, why = xpcall(cases[name], debug.traceback)
  io.write(is_right and "ok   " or "FAIL ", name, "\n")
  if not is_right then
    failed = failed + 1
    io.write(tostring(why), "\n")
  end
end
io.write(("%d passed, %d failed\n"):format(#names - failed, failed))
os.exit(failed == 0 and 0 or 1)
