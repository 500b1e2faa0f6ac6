"""When a step is compiled: what it costs, what compiling it costs, and the thread that compiles."""
