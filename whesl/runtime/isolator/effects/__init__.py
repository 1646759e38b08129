"""What the isolator's core orders: recovery steps, checkpoints, further nodes; a thread for them."""
