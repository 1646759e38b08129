-- WHESL placement for slurmctld (JobSubmitPlugins=lua). The site's own script, if there was one, runs first.
--
-- Adds an exclude list to jobs that leave their nodes to Slurm. It never refuses a job, and a failure of its own
-- leaves the job as it was. Written by `whesl placement install`; changes belong into job_submit.site.lua.

local here = "@HERE@"
local site_submit, site_modify

local own = io.open(here .. "/job_submit.site.lua", "r")
if own then
   own:close()
   dofile(here .. "/job_submit.site.lua")
   site_submit, site_modify = slurm_job_submit, slurm_job_modify
end

local loaded, place = pcall(dofile, here .. "/whesl_placement.lua")
if not loaded then
   slurm.log_error("whesl placement: %s", tostring(place))
   place = nil
elseif place.lacking then
   slurm.log_error("whesl placement: %s", place.lacking)
end

local function number(value)
   if value == nil or value >= 4294967294 or value == slurm.NO_VAL or value == slurm.INFINITE then
      return nil
   end
   return value
end

local function count(value)
   value = number(value)
   return (value ~= nil and value < 65534) and value or nil
end

local function filled(text)
   return text ~= nil and text ~= ""
end

-- Seconds of the job's limit; without one, of the longest among its partitions. Slurm counts in minutes.
local function seconds(job, parts, names)
   local minutes = number(job.time_limit)
   if minutes == nil then
      for _, name in ipairs(names) do
         local part = parts[name]
         local most = part and (number(part.default_time) or number(part.max_time))
         if most == nil then
            return nil
         end
         minutes = math.max(minutes or 0, most)
      end
   end
   return minutes and minutes * 60
end

local function request(job, parts)
   local names = {}
   for name in (job.partition or ""):gmatch("[^,]+") do
      names[#names + 1] = name
   end
   if #names == 0 then
      for name, part in pairs(parts) do
         if part.flag_default == 1 then
            names[1] = name
         end
      end
   end
   local special
   local hosts = {}
   for _, name in ipairs(names) do
      hosts[#hosts + 1] = parts[name] and parts[name].nodes or ""
   end
   local features = place.features(job.features)
   if filled(job.tres_per_node) or filled(job.tres_per_job) or filled(job.tres_per_socket)
      or filled(job.tres_per_task) then
      special = "generic resources"
   elseif number(job.req_switch) and job.req_switch > 0 or job.contiguous == 1 then
      special = "a layout of nodes"
   elseif features == nil then
      special = "a choice of features"
   elseif number(job.het_job_offset) then
      special = "several components"
   elseif number(job.pn_min_tmp_disk) and job.pn_min_tmp_disk > 0 then
      special = "local disk"
   end
   local per_task = math.max(1, count(job.cpus_per_task) or 1)
   local node_cpus = math.max(per_task, count(job.pn_min_cpus) or 1)
   local nodes, tasks = math.max(1, number(job.min_nodes) or 1), number(job.num_tasks)
   local per_node = count(job.ntasks_per_node)
   if tasks and per_node and per_node > 0 then
      nodes = math.max(nodes, math.ceil(tasks / per_node))
      node_cpus = math.max(node_cpus, per_node * per_task)
   end
   local memory = job.min_mem_per_node or (job.min_mem_per_cpu and job.min_mem_per_cpu * node_cpus) or 0
   return {
      partitions = names, nodes = nodes, seconds = seconds(job, parts, names),
      cpus = math.max(number(job.min_cpus) or 1, (tasks or 1) * per_task), node_cpus = node_cpus,
      memory = memory < 9e15 and memory or 0, features = features or {}, special = special,
      hosts = hosts,
      own = filled(job.req_nodes) or filled(job.exc_nodes) or filled(job.reservation)
         or place.asks_off(job.comment),
   }
end

local function apply(job, parts)
   local found = place.decide(request(job, parts))
   if found then
      if found.nodes then
         job.exc_nodes = found.nodes
      end
      local before = filled(job.admin_comment) and (job.admin_comment .. " | ") or ""
      job.admin_comment = before .. place.mark(found)
   end
end

function slurm_job_submit(job, parts, uid)
   if site_submit then
      local status = site_submit(job, parts, uid)
      if status ~= slurm.SUCCESS then
         return status
      end
   end
   if place then
      local done, why = pcall(apply, job, parts)
      if not done then
         slurm.log_error("whesl placement: %s", tostring(why))
      end
   end
   return slurm.SUCCESS
end

function slurm_job_modify(job, record, parts, uid)
   if site_modify then
      return site_modify(job, record, parts, uid)
   end
   return slurm.SUCCESS
end

return slurm.SUCCESS
