--- The few functions of Neovim that tools are written with: jobs, later work, messages, files, JSON.
local native, shared = ...

local type, error, ipairs, tostring, next = type, error, ipairs, tostring, next

local queue, timers, jobs = {}, {}, {}

local function function_argument(value, name)
  if type(value) ~= "function" then error(name .. ": expected a function", 3) end
end

local function schedule(callback)
  function_argument(callback, "vim.schedule")
  queue[#queue + 1] = callback
end

local function defer(callback, milliseconds)
  function_argument(callback, "vim.defer_fn")
  timers[#timers + 1] = { at = native.now() + (milliseconds or 0) / 1000, callback = callback }
end

local function lines(text)
  local all = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do all[#all + 1] = line end
  return all
end

local function jobstart(command, options)
  options = options or {}
  if type(command) == "string" then command = { "/bin/sh", "-c", command } end
  if type(command) ~= "table" or #command == 0 then
    error("vim.fn.jobstart: expected a command", 2)
  end
  for index, word in ipairs(command) do
    if type(word) ~= "string" then
      error("vim.fn.jobstart: word " .. index .. " of the command is a " .. type(word), 2)
    end
  end
  local job = native.start_job(command, options.cwd, options.env or {})
  jobs[job] = options
  return job
end

local function jobstop(job)
  if not jobs[job] then return 0 end
  native.stop_job(job)
  return 1
end

local function run(what, callback, ...)
  if callback == nil then return end
  local ok, reason = shared.try(callback, ...)
  if not ok then shared.log_error(what .. ": " .. reason) end
end

function shared.job_ended(job, ended)
  local options = jobs[job]
  if not options then return end
  jobs[job] = nil
  run("on_stdout", options.on_stdout, job, lines(ended.stdout), "stdout")
  run("on_stderr", options.on_stderr, job, lines(ended.stderr), "stderr")
  run("on_exit", options.on_exit, job, ended.code, "exit")
end

--- Runs what is due; the time of the next timer, and whether anything can still happen.
function shared.run_due(now)
  local due = queue
  queue = {}
  local later = {}
  for _, timer in ipairs(timers) do
    if timer.at <= now then due[#due + 1] = timer.callback else later[#later + 1] = timer end
  end
  timers = later
  for _, callback in ipairs(due) do run("vim.schedule", callback) end
  if #queue > 0 then return now, true end
  local nearest
  for _, timer in ipairs(timers) do
    if not nearest or timer.at < nearest then nearest = timer.at end
  end
  return nearest, nearest ~= nil or next(jobs) ~= nil
end

local LEVELS = { TRACE = 0, DEBUG = 1, INFO = 2, WARN = 3, ERROR = 4, OFF = 5 }
local WORDS = { [0] = "debug", "debug", "info", "warn", "error" }

local function notify(text, level)
  if level == LEVELS.OFF then return end
  native.log(WORDS[level] or "info", tostring(text))
end

local function readfile(path)
  local text, reason = native.read_file(path)
  if not text then error(reason, 2) end
  local all = lines(text)
  if all[#all] == "" then all[#all] = nil end
  return all
end

local function writefile(all, path)
  local text = table.concat(all, "\n")
  if #all > 0 then text = text .. "\n" end
  local written, reason = native.write_file(path, text)
  if not written then error(reason, 2) end
  return 0
end

vim = {
  NIL = native.null,
  schedule = schedule,
  defer_fn = defer,
  notify = notify,
  deepcopy = shared.deep_copy,
  log = { levels = LEVELS },
  json = { encode = native.json_encode, decode = native.json_decode },
  fn = { jobstart = jobstart, jobstop = jobstop, readfile = readfile, writefile = writefile },
}
