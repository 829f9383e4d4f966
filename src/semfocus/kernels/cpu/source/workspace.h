// Scratch memory of a call: taken once, before the threads start, and kept by the calling thread for its next call.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <new>

struct Buffer {
  void *data = nullptr;
  size_t size = 0;
  void *at_least(size_t bytes) {
    if (bytes <= size) return data;
    free(data);
    size = 0;
    data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data) throw std::bad_alloc();
    size = bytes;
    return data;
  }
  ~Buffer() { free(data); }
};

// Hands out pieces that start at a whole cache line; with no memory behind it, it only counts.
struct Pieces {
  char *at = nullptr;
  size_t used = 0;
  template <typename T> T *take(int64_t count) {
    T *piece = at ? (T *)(at + used) : nullptr;
    used += ((size_t)count * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
};

// Work is a struct of pieces with a constructor Work(Pieces &, task): one for each thread, after what all share.
template <typename Work, typename Task> struct Workspaces {
  const Task &task;
  size_t each;
  char *shared, *own;
  Workspaces(const Task &task, int threads, int64_t shared_bytes = 0) : task(task) {
    static thread_local Buffer buffer;
    Pieces counted;
    Work counting(counted, task);
    each = counted.used;
    shared = (char *)buffer.at_least((size_t)shared_bytes + 64 + each * (size_t)threads);
    own = shared + ((size_t)shared_bytes + 63) / 64 * 64;
  }
  Work of_thread(int thread) const {
    Pieces pieces{own + each * (size_t)thread, 0};
    return Work(pieces, task);
  }
};
