"""ACP messages as small frozen values, and the two sides that exchange them."""
