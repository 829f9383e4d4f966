// Counter-based random numbers: a function of (seed, row, column), the same as in randomness.py.
#pragma once
#include <algorithm>
#include <cstdint>

static inline uint64_t mix(uint64_t seed, uint64_t counter) {
  uint64_t z = seed + (counter + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// The draws of one row: one multiplication chain of 32 bits a column, so that compilers turn loops into vectors.
struct RowDraws {
  uint32_t low, high;
  RowDraws(uint64_t seed, uint64_t row) {
    uint64_t key = mix(seed, row);
    low = (uint32_t)key;
    high = (uint32_t)(key >> 32);
  }
  // Uniform in {0, ..., 2^32 - 1}.
  uint32_t operator()(uint32_t column) const {
    uint32_t z = column * 0x9E3779B1u + low;
    z = (z ^ (z >> 16)) * 0x21F0AAADu;
    z = ((z ^ (z >> 15)) + high) * 0x735A2D97u;
    return z ^ (z >> 15);
  }
};

// A draw below this is dropped.
static inline uint32_t drop_limit(double probability) {
  return (uint32_t)std::min(4294967295.0, probability * 4294967296.0);
}
