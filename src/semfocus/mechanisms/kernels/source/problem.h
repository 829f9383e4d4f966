// What a call hands to the kernels. The same layout is declared in library.py.
#pragma once
#include <cstdint>

enum Mode : int32_t { TOP = 0, BOTTOM = 1, RANDOM = 2, BANDED = 3, BLOCK_LOCAL = 4, ALL = 5 };

struct Problem {
  // Rows are contiguous: query (batch, queries, width), key (batch, keys, width), value (batch, keys, value_width).
  const void *query, *key, *value;
  void *output;       // (batch, queries, value_width)
  int32_t *indices;   // (batch, queries, kept), ascending in each row, -1 where fewer keys are allowed
  void *weights;      // (batch, queries, kept), softmax before dropout
  // Backward only: gradient of the output, and where the gradients go (zero on entry for key and value).
  const void *grad_output;
  void *grad_query, *grad_key, *grad_value;
  // Boolean mask, or null. Strides in bytes; batch = outer * inner, 0 where the mask is broadcast.
  const uint8_t *mask;
  int64_t mask_outer, mask_inner, mask_query, mask_key;
  int64_t batch, inner, queries, keys, width, value_width, kept;
  double scale, dropout;
  uint64_t dropout_seed, selection_seed;
  int32_t causal, mode, size, threads;
};
