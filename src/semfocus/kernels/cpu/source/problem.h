// What a call hands to the kernels. The same layouts are declared in layout.py, and compared with layout.h.
#pragma once
#include <cstdint>

// Words for numbers, declared here alone: the caller reads them from the table of layout.h.
#define DECLARED(group, word) word,
#define MODES(each) each(Mode, TOP) each(Mode, BOTTOM) each(Mode, RANDOM) each(Mode, BANDED) each(Mode, BLOCK_LOCAL) each(Mode, ALL)
enum Mode : int32_t { MODES(DECLARED) };

// Rows of numbers: (outer, inner, row, feature), the features side by side, the other strides in elements.
struct Rows {
  void *data;
  int64_t outer, inner, row;
};

struct Problem {
  Rows query, key, value, output;
  // Backward only: gradient of the output, and where the gradients go.
  Rows grad_output, grad_query, grad_key, grad_value;
  // Kept keys and weights; the first row stored is that of (batch, query) number `first_row`, usually 0.
  int32_t *indices;  // (batch, queries, kept), ascending in each row, -1 where fewer keys are allowed; not for ALL
  void *weights;     // (batch, queries, kept), softmax before dropout; for ALL (batch, queries, 2): largest score, 1 / sum
  // Boolean mask, or null. Strides in bytes, 0 where the mask is broadcast.
  const uint8_t *mask;
  int64_t mask_outer, mask_inner, mask_query, mask_key;
  // TOP and BOTTOM: what is added to the scores, the keys side by side; data is null for nothing.
  Rows bias;
  void *grad_scores;  // backward, if the bias wants a gradient: (batch, queries, kept), those of the kept scores
  int64_t batch, inner, queries, keys, width, value_width, kept;  // batch = outer * inner
  int64_t first_row;
  double scale, softcap, dropout;  // TOP and BOTTOM: scores are limited to softcap * tanh(score / softcap), before the bias; 0: not
  uint64_t dropout_seed, selection_seed;
  int32_t causal, mode, size, threads;
};

template <typename T> static inline T *row_of(const Rows &rows, int64_t inner, int64_t batch, int64_t row) {
  return (T *)rows.data + batch / inner * rows.outer + batch % inner * rows.inner + row * rows.row;
}
