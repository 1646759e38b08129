"""What a resource manager still tells of a job that may have ended: asked by the job's id alone."""
