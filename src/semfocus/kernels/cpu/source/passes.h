// What a call hands to the passes over activations. The same layout is declared in layout.py.
#pragma once
#include "problem.h"

#define PASSES(each) each(PassKind, FORWARD) each(PassKind, BACKWARD) each(PassKind, RELU) each(PassKind, RELU_BACKWARD)
enum PassKind : int32_t { PASSES(DECLARED) };

// Contiguous (rows, width) arrays; those that are not wanted are null.
struct Pass {
  const void *input, *other;  // sum = input + drop(other + bias)
  const void *bias;           // (width)
  void *sum, *normed;         // normed = (sum - mean) * factor, in each row
  void *factors;              // (rows): 1 / sqrt(variance + epsilon)
  const void *grad_sum, *grad_normed;
  void *grad_input, *grad_other;
  int64_t rows, width;
  double epsilon, dropout;
  uint64_t seed;
  int32_t threads;
};
