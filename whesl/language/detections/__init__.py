"""The kinds of detections, a module each: form, checks, sentence and detector."""
