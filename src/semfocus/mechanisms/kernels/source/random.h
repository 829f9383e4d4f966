// Counter-based random numbers: a mixing function of (seed, counter).
#pragma once
#include <cstdint>

static inline uint64_t mix(uint64_t seed, uint64_t counter) {
  uint64_t z = seed + (counter + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Uniform in {0, ..., 2^32 - 1}.
static inline uint32_t mix32(uint64_t seed, uint64_t counter) { return (uint32_t)(mix(seed, counter) >> 32); }
