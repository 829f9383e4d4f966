// What a call hands to the fused block. The same layout is declared in layout.py.
#pragma once
#include "problem.h"

struct Linear {
  const void *weight, *bias;  // (outputs, inputs), (outputs)
  void *grad_weight, *grad_bias;
};

// Arrays have one row a token: attention.batch / attention.inner sequences of attention.queries tokens.
struct Block {
  Problem attention;  // everything but the addresses of its rows
  Linear query, key, value, out, expand, contract;
  const void *input;   // (rows, width)
  void *output;        // (rows, width)
  void *activations;   // what the backward pass needs, as many bytes as semfocus_block_memory says; or null
  const void *grad_output;
  void *grad_input;
  int64_t width, mixed_width, hidden_width;  // mixed_width: heads * width of a head
  double dropout, attention_epsilon, mlp_epsilon;
  uint64_t out_seed, hidden_seed, output_seed;
};
