"""Operations of recoveries on nodes, file systems and jobs, which let a task go on after a failure.

``recovery_plan`` decides (pure), ``recovery_step_execution`` carries one step out; everything else is one
operation or one tool.
"""
