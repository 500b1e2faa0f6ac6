"""NimbleHLO: runs StableHLO programs on a CPU, exactly as the specification says, and fast."""
