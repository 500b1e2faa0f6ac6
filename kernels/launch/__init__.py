"""The runtime of native code: threads, the task pool, compilation, the cache on disk, scratch memory."""
