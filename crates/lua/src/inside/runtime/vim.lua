--- The few functions of Neovim that tools are written with: jobs, later work, messages, files, JSON.
local native, shared = ...

local type, error, pairs, ipairs, tostring, next = type, error, pairs, ipairs, tostring, next

local queue, timers, jobs = {}, {}, {}

-- On whose behalf a script runs now: the number of a call, a source, or nil. What it puts off is theirs too.
local owner = nil

--- Runs a function of the script on somebody's behalf; its error is a text.
function shared.run_for(whose, callback, ...)
  local before = owner
  owner = whose
  local function outcome(...)
    owner = before
    return ...
  end
  return outcome(shared.try(callback, ...))
end

--- Forgets whose turn it was: an error of the watch may have left it.
function shared.run_for_nobody() owner = nil end

local function function_argument(value, name)
  if type(value) ~= "function" then error(name .. ": expected a function", 3) end
end

local function schedule(callback)
  function_argument(callback, "vim.schedule")
  queue[#queue + 1] = { callback = callback, owner = owner }
end

local function defer(callback, milliseconds)
  function_argument(callback, "vim.defer_fn")
  local at = native.now() + (milliseconds or 0) / 1000
  timers[#timers + 1] = { at = at, callback = callback, owner = owner }
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
  local call = type(owner) == "number" and owner or nil
  local job = native.start_job(command, options.cwd, options.env or {}, call)
  jobs[job] = { options = options, owner = owner }
  return job
end

local function jobstop(job)
  if not jobs[job] then return 0 end
  native.stop_job(job)
  return 1
end

--- Stops the jobs of a call or a source that has ended; their callbacks have nobody to tell.
function shared.stop_jobs(whose)
  for job, entry in pairs(jobs) do
    if entry.owner == whose then
      jobs[job] = nil
      native.stop_job(job)
    end
  end
end

local function run(what, whose, callback, ...)
  if callback == nil then return end
  local ok, reason = shared.run_for(whose, callback, ...)
  if not ok then shared.log_error(what .. ": " .. reason) end
end

function shared.job_ended(job, ended)
  local entry = jobs[job]
  if not entry then return end
  jobs[job] = nil
  local options, whose = entry.options, entry.owner
  run("on_stdout", whose, options.on_stdout, job, lines(ended.stdout), "stdout")
  run("on_stderr", whose, options.on_stderr, job, lines(ended.stderr), "stderr")
  run("on_exit", whose, options.on_exit, job, ended.code, "exit")
end

--- Runs what is due; the time of the next timer, and whether anything can still happen.
function shared.run_due(now)
  local due = queue
  queue = {}
  local later = {}
  for _, timer in ipairs(timers) do
    if timer.at <= now then due[#due + 1] = timer else later[#later + 1] = timer end
  end
  timers = later
  for _, work in ipairs(due) do run("vim.schedule", work.owner, work.callback) end
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
