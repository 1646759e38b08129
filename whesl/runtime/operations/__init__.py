"""Exception resource management: what is done to nodes, file systems and jobs so that a task can go on.

``plan`` decides (pure), ``execute`` carries one step out; everything else is one operation or one tool.
"""
