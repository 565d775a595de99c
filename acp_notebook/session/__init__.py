"""The client side of a session: its state, the turns, the permission requests."""
