"""Operations of recoveries on nodes, file systems and jobs, which let a task go on after a failure.

``plan`` decides (pure), ``execute`` carries one step out; everything else is one operation or one tool.
"""
