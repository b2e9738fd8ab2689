"""Does not speak the protocol."""
print("Welcome to garbage 1.0!", flush=True)
