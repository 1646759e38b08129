-- Keeps a job off nodes that are predicted to fail: a lookup in the table that `whesl placement serve` publishes.
--
-- Loaded by job_submit.lua (inside slurmctld) and cli_filter.lua (in the client). It reads one bounded file, at
-- most once a second, and only when it has changed; every failure of its own ends in doing nothing. The decision
-- is whesl.site.publish.lookup.decide, which documents the file.

local M = {
   path = "@TABLE@",
   most = 4 * 1024 * 1024, -- bytes of a table
   ahead = 300,            -- seconds that the writer's clock may be ahead
   now = os.time,
}

local table_now, looked, seen = nil, nil, nil
local memo, memo_count = {}, 0

-- With lua-posix, a pipe or a device in the table's place is not even opened.
local has_stat, stat = pcall(require, "posix.sys.stat")

local function plain(path)
   if not has_stat or type(stat) ~= "table" then
      return true
   end
   local found = stat.lstat(path)
   return found ~= nil and stat.S_ISREG(found.st_mode) ~= 0 and found.st_size <= M.most
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
   if whole(index) ~= t.kinds or t.kinds > 65535 then
      return false
   end
   local one = { cpus = whole(cpus), memory = whole(memory), features = {}, usable = {}, held = {} }
   for _, feature in ipairs(features == "-" and {} or list(features, ",")) do
      one.features[feature] = true
   end
   for at, pair in ipairs(list(pairs_, ",")) do
      local usable, held = pair:match("^(%d+)/(%d+)$")
      one.usable[at - 1], one.held[at - 1] = whole(usable), whole(held)
      if not one.usable[at - 1] or not one.held[at - 1] then
         return false
      end
   end
   t.class[t.kinds] = one
   t.kinds = t.kinds + 1
   return one.cpus ~= nil and one.memory ~= nil and #list(pairs_, ",") == t.parts
end

function reading.node(t, rest)
   local index, name, kind, parts = rest:match("^(%d+) ([%w_.][%w_.%-]*) (%d+) ([%d,]+)$")
   kind = whole(kind)
   if whole(index) ~= t.nodes or kind == nil or t.class[kind] == nil or #name > 255 then
      return false
   end
   local one = { name = name, kind = kind, parts = {} }
   for _, text in ipairs(list(parts, ",")) do
      local part = whole(text)
      if not part or part >= t.parts then
         return false
      end
      one.parts[part] = true
   end
   t.node[t.nodes] = one
   t.nodes = t.nodes + 1
   return true
end

function reading.horizon(t, rest)
   local order, seconds = {}, nil
   for text in rest:gmatch("%S+") do
      local number = whole(text)
      if number == nil then
         return false
      elseif seconds == nil then
         seconds = number
      elseif t.node[number] == nil or #order >= 65536 then
         return false
      else
         order[#order + 1] = number
      end
   end
   t.horizon[#t.horizon + 1] = { seconds = seconds, order = order }
   return seconds ~= nil and #t.horizon <= 16
end

local function parse(text)
   local first, rest = text:match("^([^\n]*)\n(.*)$")
   local t = header(first)
   if not t or text:sub(-#t.serial - 6) ~= "\nend " .. t.serial .. "\n" then
      return nil
   end
   t.partition, t.class, t.node, t.horizon = {}, {}, {}, {}
   t.parts, t.kinds, t.nodes = 0, 0, 0
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
   if looked ~= now then
      looked = now
      local file = plain(M.path) and io.open(M.path, "r") or nil
      if file then
         local first = header((file:read(256) or ""):match("^([^\n]*)\n"))
         local serial = first and first.serial
         if serial == nil then
            table_now, seen = nil, nil
         elseif serial ~= seen then
            file:seek("set", 0)
            local text = file:read(M.most + 1) or ""
            table_now = #text <= M.most and parse(text) or nil
            memo, memo_count, seen = {}, 0, serial
         end
         file:close()
      else
         table_now, seen = nil, nil
      end
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
      if not one.features[feature] then
         return false
      end
   end
   return true
end

local function ranges(names)
   local out, prefix, low, high, digits = {}, nil, nil, nil, nil
   local group = {}
   local function close()
      if prefix then
         if #group == 1 and not group[1]:find("-", 1, true) then
            out[#out + 1] = prefix .. group[1]
         else
            out[#out + 1] = prefix .. "[" .. table.concat(group, ",") .. "]"
         end
      end
      group = {}
   end
   local function flush()
      if low then
         local one = string.format("%0" .. digits .. "d", low)
         group[#group + 1] = low == high and one or one .. "-" .. string.format("%0" .. digits .. "d", high)
      end
   end
   for _, name in ipairs(names) do
      local stem, number = name:match("^(.-)(%d+)$")
      if not stem or stem == "" or #number > 9 then
         flush()
         close()
         prefix, low = nil, nil
         out[#out + 1] = name
      elseif stem == prefix and #number == digits and tonumber(number) == high + 1 then
         high = high + 1
      else
         flush()
         if stem ~= prefix then
            close()
         end
         prefix, digits = stem, #number
         low, high = tonumber(number), tonumber(number)
      end
   end
   flush()
   close()
   return table.concat(out, ",")
end
M.ranges = ranges

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
   local order = t.horizon[#t.horizon].order
   for _, one in ipairs(t.horizon) do
      if job.seconds and job.seconds <= one.seconds then
         order = one.order
         break
      end
   end
   local suit, least = {}, nil
   for kind, one in pairs(t.class) do
      suit[kind] = suits(one, job)
      if suit[kind] and (least == nil or one.cpus < least) then
         least = one.cpus
      end
   end
   local function exists(name)
      for _, text in ipairs(job.hosts or {}) do
         if has(host_list(text), name) then
            return true
         end
      end
      return job.hosts == nil
   end
   local function member(node)
      if suit[node.kind] and exists(node.name) then
         for _, part in ipairs(parts) do
            if node.parts[part] then
               return true
            end
         end
      end
      return false
   end
   local wanted = 0
   for _, index in ipairs(order) do
      wanted = wanted + (member(t.node[index]) and 1 or 0)
   end
   if wanted == 0 then
      return nil
   end
   if job.special then
      return { said = "no node is excluded: the job asks for " .. job.special, count = 0 }
   end
   local need, left = math.max(job.nodes, math.ceil(job.cpus / math.max(1, least))), {}
   for _, part in ipairs(parts) do
      local usable, held = 0, 0
      for kind, one in pairs(t.class) do
         if suit[kind] then
            usable, held = usable + one.usable[part], held + one.held[part]
         end
      end
      left[part] = math.max(0, math.min(math.floor(t.share * (usable + held)) - held, usable - need))
   end
   local chosen = {}
   for _, index in ipairs(order) do
      local node = t.node[index]
      local may = member(node)
      for _, part in ipairs(parts) do
         may = may and not (node.parts[part] and left[part] <= 0)
      end
      if may then
         chosen[#chosen + 1] = index
         for part in pairs(node.parts) do
            left[part] = left[part] and left[part] - 1
         end
      end
   end
   table.sort(chosen)
   local names = {}
   for at, index in ipairs(chosen) do
      names[at] = t.node[index].name
   end
   local said = #chosen .. " of " .. wanted .. " nodes at risk are excluded"
   if #chosen < wanted then
      said = said .. ", others are needed"
   end
   return { nodes = #names > 0 and ranges(names) or nil, said = said, count = #names }
end

-- What to do with a job: nil for nothing, else {nodes = host list or nil, said = text}.
function M.decide(job)
   local t = M.table()
   if not t or not t.active or job.own then
      return nil
   end
   local key = table.concat({
      table.concat(job.partitions, ","), job.nodes, tostring(job.seconds), job.cpus, job.node_cpus, job.memory,
      table.concat(job.features, ","), tostring(job.special), job.hosts and table.concat(job.hosts, ";") or "",
   }, "|")
   local found = memo[key]
   if found == nil then
      found = look_up(t, job) or false
      if memo_count >= 1024 then
         memo, memo_count = {}, 0
      end
      memo[key], memo_count = found, memo_count + 1
   end
   return found or nil
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
