"""The kinds of detections, a module each: how they are written, checked and said, and what raises them."""
