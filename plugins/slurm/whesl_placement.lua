-- Keeps a job off nodes that are predicted to fail: a lookup in the table that `whesl placement serve` publishes.
--
-- Loaded by job_submit.lua (inside slurmctld) and cli_filter.lua (in the client). It looks at the first line of one
-- bounded file for each job, and reads the rest when that has changed: a table that was withdrawn is not used once
-- more. Every failure of its own ends in doing nothing. The decision is whesl.placement.site.publish.plugin_file.decide, which
-- documents the file.
--
-- Slurm collects Lua's garbage in full after each job: what is kept between two jobs is few, large strings.

local M = {
   path = "@TABLE@",
   most = 4 * 1024 * 1024, -- bytes of a table
   names = 128,            -- of nodes in one list: Slurm takes 2 us for each at each job
   ahead = 300,            -- seconds that the writer's clock may be ahead
   now = os.time,
}

local table_now, seen = nil, nil
local memo, memo_count = {}, 0

-- A pipe or a device in the table's place must not even be opened: slurmctld would wait for it for ever. Only
-- lua-posix tells it from a file before that, so no table is read without it.
local has_stat, stat = pcall(require, "posix.sys.stat")

M.lacking = nil
if not has_stat or type(stat) ~= "table" then
   M.lacking = "no table is read: lua-posix is not installed for " .. _VERSION
end

function M.plain(path)
   if M.lacking then
      return false
   end
   local found = stat.lstat(path)
   local regular = found and stat.S_ISREG(found.st_mode)
   return (regular == true or type(regular) == "number" and regular ~= 0) and found.st_size <= M.most
end

local function whole(text)
   if text == nil or not text:match("^%d+$") or #text > 15 then
      return nil
   end
   return tonumber(text)
end

local function list(text, separator)
   local found = {}
   for one in text:gmatch("[^" .. separator .. "]+") do
      found[#found + 1] = one
   end
   return found
end

local function header(line)
   local serial, written, till, mode = (line or ""):match("^whesl%-placement 1 (%d+) (%d+) (%d+) (%a+)$")
   if not serial or not whole(written) or not whole(till) or (mode ~= "active" and mode ~= "observe") then
      return nil
   end
   return { serial = serial, written = whole(written), till = whole(till), active = mode == "active" }
end

-- One function for each kind of line; a line that is not as it should be makes the whole table void.
local reading = {}

function reading.share(t, rest)
   t.share = tonumber(rest)
   return t.share ~= nil and t.share >= 0 and t.share <= 1
end

function reading.partition(t, rest)
   local index, name, default = rest:match("^(%d+) ([%w_.%-]+) (%S+)$")
   index = whole(index)
   if index ~= t.parts or t.parts > 4095 then
      return false
   end
   t.parts = index + 1
   t.partition[name] = index
   if default == "default" then
      t.default = name
   end
   return true
end

function reading.class(t, rest)
   local index, cpus, memory, features, pairs_ = rest:match("^(%d+) (%d+) (%d+) (%S+) ?(%S*)$")
   if whole(index) ~= t.kinds or t.kinds > 4095 then
      return false
   end
   local one = { cpus = whole(cpus), memory = whole(memory), features = "," .. features .. ",", pairs = pairs_ }
   t.class[t.kinds] = one
   t.kinds = t.kinds + 1
   return one.cpus ~= nil and one.memory ~= nil and #list(pairs_, ",") == t.parts
end

-- The nodes stay text until a job asks for them.
function reading.horizon(t, rest)
   local seconds, order = rest:match("^(%d+)([%w_.%-:+ ]*)$")
   t.horizon[#t.horizon + 1] = { seconds = whole(seconds), order = order }
   return seconds ~= nil and whole(seconds) ~= nil and #t.horizon <= 16
end

local function parse(text)
   local first, rest = text:match("^([^\n]*)\n(.*)$")
   local t = header(first)
   if not t or text:sub(-#t.serial - 6) ~= "\nend " .. t.serial .. "\n" then
      return nil
   end
   t.partition, t.class, t.horizon = {}, {}, {}
   t.parts, t.kinds = 0, 0
   for line in rest:sub(1, -#t.serial - 6):gmatch("[^\n]+") do
      local word, more = line:match("^(%l+) (.*)$")
      if not word or not reading[word] or not reading[word](t, more) then
         return nil
      end
   end
   if not t.share or #t.horizon == 0 then
      return nil
   end
   return t
end

-- The table, or nil where there is none that may be used.
function M.table()
   local now = M.now()
   local file = M.plain(M.path) and io.open(M.path, "r") or nil
   local first = file and header((file:read(256) or ""):match("^([^\n]*)\n"))
   if not first then
      table_now, seen = nil, nil
   elseif first.serial ~= seen then
      file:seek("set", 0)
      local text = file:read(M.most + 1) or ""
      table_now = #text <= M.most and parse(text) or nil
      memo, memo_count, seen = {}, 0, first.serial
   end
   if file then
      file:close()
   end
   local t = table_now
   if t and t.written - M.ahead <= now and now < t.till then
      return t
   end
   return nil
end

local function suits(one, job)
   if one.cpus < job.node_cpus or one.memory < job.memory then
      return false
   end
   for _, feature in ipairs(job.features) do
      if not one.features:find("," .. feature .. ",", 1, true) then
         return false
      end
   end
   return true
end

-- Whether a partition has a node: Slurm refuses a job that leaves out one that it does not know, and a node may
-- have gone from slurm.conf since the table was written. Names are compared with the partition's own host list.
local known, known_count = {}, 0

local function host_list(text)
   local found = known[text]
   if found then
      return found
   end
   found = { names = {}, ranges = {} }
   for entry in text:gsub("%b[]", function(inside) return (inside:gsub(",", "+")) end):gmatch("[^,]+") do
      local prefix, inside = entry:match("^([^%[%]]*)%[([%d%-+]+)%]$")
      if prefix then
         for part in inside:gmatch("[^+]+") do
            local low, high = part:match("^(%d+)%-?(%d*)$")
            if low then
               local list_ = found.ranges[prefix] or {}
               found.ranges[prefix] = list_
               list_[#list_ + 1] = { tonumber(low), tonumber(high == "" and low or high), #low }
            end
         end
      else
         found.names[entry] = true
      end
   end
   if known_count >= 256 then
      known, known_count = {}, 0
   end
   known[text], known_count = found, known_count + 1
   return found
end

local function has(list_, name)
   if list_.names[name] then
      return true
   end
   local prefix, digits = name:match("^(.-)(%d+)$")
   for _, one in ipairs(prefix and list_.ranges[prefix] or {}) do
      local number = tonumber(digits)
      if #digits == one[3] and one[1] <= number and number <= one[2] then
         return true
      end
   end
   return false
end

-- What jobs that are alike have in common: the candidates of their horizon, most risk first, and what is usable in
-- each partition. It is worked out once for a table; a job's size only bounds how many of them are left out.
local function group(t, job, horizon, parts)
   local suit, sign, least = {}, {}, nil
   for kind = 0, t.kinds - 1 do
      local one = t.class[kind]
      suit[kind] = suits(one, job)
      sign[#sign + 1] = suit[kind] and "1" or "0"
      if suit[kind] and (least == nil or one.cpus < least) then
         least = one.cpus
      end
   end
   local key = table.concat({
      horizon, table.concat(parts, ","), table.concat(sign), job.hosts and table.concat(job.hosts, ";") or "",
   }, "|")
   local found = memo[key]
   if found then
      return found
   end
   local lists, names = {}, {}
   for at, text in ipairs(job.hosts or {}) do
      lists[at] = host_list(text)
   end
   local function exists(name)
      for _, one in ipairs(lists) do
         if has(one, name) then
            return true
         end
      end
      return job.hosts == nil
   end
   for text in t.horizon[horizon].order:gmatch("%S+") do
      local name, kind, its = text:match("^([%w_.][%w_.%-]*):(%d+):([%d+]+)$")
      kind = whole(kind)
      if not kind or kind >= t.kinds or #name > 255 then
         table_now = nil -- not a table after all
         return nil
      end
      its = "+" .. its .. "+"
      local mine = {}
      for at, part in ipairs(parts) do
         if its:find("+" .. part .. "+", 1, true) then
            mine[#mine + 1] = at
         end
      end
      if #mine > 0 and suit[kind] and exists(name) then
         names[#names + 1] = name .. ":" .. table.concat(mine, "+")
      end
   end
   found = { names = table.concat(names, ","), wanted = #names, least = least or 1, lists = {}, count = 0 }
   found.usable, found.held = {}, {}
   for at, part in ipairs(parts) do
      local usable, held = 0, 0
      for kind = 0, t.kinds - 1 do
         local pair = suit[kind] and list(t.class[kind].pairs, ",")[part + 1] or "0/0"
         local free, out = pair:match("^(%d+)/(%d+)$")
         usable, held = usable + (whole(free) or 0), held + (whole(out) or 0)
      end
      found.usable[at], found.held[at] = usable, held
   end
   if memo_count >= 256 then
      memo, memo_count = {}, 0
   end
   memo[key], memo_count = found, memo_count + 1
   return found
end

-- The first of the candidates that the budgets of all their partitions allow.
local function choose(alike, left)
   local chosen = {}
   for name, mine in alike.names:gmatch("([^,:]+):([%d+]+)") do
      local may = true
      for at in mine:gmatch("%d+") do
         may = may and left[tonumber(at)] > 0
      end
      if may then
         chosen[#chosen + 1] = name
         for at in mine:gmatch("%d+") do
            left[tonumber(at)] = left[tonumber(at)] - 1
         end
      end
   end
   table.sort(chosen)
   return { nodes = #chosen > 0 and table.concat(chosen, ",") or nil, count = #chosen }
end

local function look_up(t, job)
   local parts = {}
   for _, name in ipairs(job.partitions) do
      local index = t.partition[name]
      if index == nil then
         return nil
      end
      parts[#parts + 1] = index
   end
   if #parts == 0 then
      return nil
   end
   local horizon = #t.horizon
   for at, one in ipairs(t.horizon) do
      if job.seconds and job.seconds <= one.seconds then
         horizon = at
         break
      end
   end
   local alike = group(t, job, horizon, parts)
   if alike == nil or alike.wanted == 0 then
      return nil
   end
   if job.special then
      return { said = "no node is excluded: the job asks for " .. job.special, count = 0 }
   end
   local need, left = math.max(job.nodes, math.ceil(job.cpus / math.max(1, alike.least))), {}
   for at = 1, #parts do
      local usable, held = alike.usable[at], alike.held[at]
      local most = math.max(0, math.min(math.floor(t.share * (usable + held)) - held, usable - need))
      left[at] = math.min(most, alike.wanted, M.names)
   end
   local key = table.concat(left, ",")
   local found = alike.lists[key]
   if not found then
      if alike.count >= 16 then
         alike.lists, alike.count = {}, 0
      end
      found = choose(alike, left)
      alike.lists[key], alike.count = found, alike.count + 1
   end
   local said = found.count .. " of " .. alike.wanted .. " nodes at risk are excluded"
   if found.count < alike.wanted then
      said = said .. ", others are needed"
   end
   return { nodes = found.nodes, said = said, count = found.count }
end

-- What to do with a job: nil for nothing, else {nodes = host list or nil, said = text}.
function M.decide(job)
   local t = M.table()
   if not t or not t.active or job.own then
      return nil
   end
   return look_up(t, job)
end

-- The names of a plain list of features, or nil for a choice of them (counts, "|", brackets).
function M.features(text)
   if text == nil or text == "" then
      return {}
   end
   if not text:match("^[%w_.:/+&%-]+$") then
      return nil
   end
   return list(text, "&")
end

function M.asks_off(comment)
   return comment ~= nil and comment:find("placement=off", 1, true) ~= nil
end

function M.mark(found)
   local nodes = found.nodes and ("exclude=" .. found.nodes .. "; ") or ""
   return "whesl-placement: " .. nodes .. found.said
end

return M
