-- WHESL placement in sbatch, salloc and srun (CliFilterPlugins=lua), for sites that want nothing in slurmctld.
--
-- The table has to be readable by users then. The site's own script, if there was one, runs first. Written by
-- `whesl placement install --cli-filter`; changes belong into cli_filter.site.lua.

local here = "@HERE@"
local site = {}

local own = io.open(here .. "/cli_filter.site.lua", "r")
if own then
   own:close()
   dofile(here .. "/cli_filter.site.lua")
   site = { defaults = slurm_cli_setup_defaults, before = slurm_cli_pre_submit, after = slurm_cli_post_submit }
end

local loaded, place = pcall(dofile, here .. "/whesl_placement.lua")
if not loaded then
   slurm.log_error("whesl placement: %s", tostring(place))
   place = nil
end

local function filled(text)
   return text ~= nil and text ~= "" and text ~= "-2" and text ~= "unset"
end

-- Seconds of MINUTES, MM:SS, HH:MM:SS, DAYS-HH[:MM[:SS]]; nil for anything else.
local function seconds(text)
   local days, rest = text:match("^(%d+)%-(.+)$")
   local parts = {}
   for one in (rest or text):gmatch("[^:]+") do
      parts[#parts + 1] = tonumber(one)
   end
   if #parts == 0 or #parts > 3 or not (rest or text):match("^[%d:]+$") then
      return nil
   elseif days then
      return ((tonumber(days) * 24 + parts[1]) * 60 + (parts[2] or 0)) * 60 + (parts[3] or 0)
   elseif #parts == 1 then
      return parts[1] * 60
   elseif #parts == 2 then
      return parts[1] * 60 + parts[2]
   end
   return (parts[1] * 60 + parts[2]) * 60 + parts[3]
end

local function request(options, default)
   local names = {}
   for name in (filled(options["partition"]) and options["partition"] or default or ""):gmatch("[^,]+") do
      names[#names + 1] = name
   end
   local features = place.features(filled(options["constraint"]) and options["constraint"] or nil)
   local special
   for _, name in ipairs({ "gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket" }) do
      special = special or (filled(options[name]) and "generic resources" or nil)
   end
   if options["contiguous"] == "set" or options["contiguous"] == "true" or filled(options["switches"]) then
      special = special or "a layout of nodes"
   end
   special = special or (features == nil and "a choice of features" or nil)
   local function count(name)
      return math.max(1, tonumber((options[name] or ""):match("^(%d+)")) or 1)
   end
   local per_task = count("cpus-per-task")
   local unit = { K = 1 / 1024, M = 1, G = 1024, T = 1048576 }
   local amount, letter = (options["mem"] or ""):match("^(%d+)([KMGT]?)")
   return {
      partitions = names, nodes = count("nodes"), cpus = count("ntasks") * per_task, node_cpus = per_task,
      memory = amount and tonumber(amount) * unit[letter == "" and "M" or letter] or 0,
      seconds = filled(options["time"]) and seconds(options["time"]) or nil, features = features or {},
      special = special,
      own = filled(options["nodelist"]) or filled(options["nodefile"]) or filled(options["exclude"])
         or filled(options["reservation"]) or place.asks_off(options["comment"])
         or os.getenv("SLURM_JOB_ID") ~= nil,
   }
end

local function apply(options)
   local known = place.table()
   local found = known and place.decide(request(options, known.default))
   if found and found.nodes then
      options["exclude"] = found.nodes
      if not filled(options["comment"]) then
         options["comment"] = place.mark(found)
      end
   end
end

function slurm_cli_setup_defaults(options, early)
   if site.defaults then
      return site.defaults(options, early)
   end
   return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
   if site.before then
      local status = site.before(options, offset)
      if status ~= slurm.SUCCESS then
         return status
      end
   end
   if place then
      local done, why = pcall(apply, options)
      if not done then
         slurm.log_error("whesl placement: %s", tostring(why))
      end
   end
   return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job, step)
   if site.after then
      return site.after(offset, job, step)
   end
   return slurm.SUCCESS
end

return slurm.SUCCESS
