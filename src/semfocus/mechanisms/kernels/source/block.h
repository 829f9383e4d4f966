// What a call hands to the fused block. The same layout is declared in library.py.
#pragma once
#include "problem.h"

struct Linear {
  const void *weight, *bias;  // (outputs, inputs), (outputs)
  void *grad_weight, *grad_bias;
};

// One row a token; attention.batch / attention.inner sequences of attention.queries tokens.
struct Block {
  Problem attention;  // reads joint, writes mixed; backward reads grad_mixed and writes grad_joint, of one element
  Linear joint_map, out_map, expand_map, contract_map;
  const void *input, *grad_output;
  void *normed, *factors, *joint, *mixed, *second_normed, *second_factors, *hidden, *output, *grad_input;
  int64_t width, joint_width, mixed_width, hidden_width;
  double dropout, attention_epsilon, mlp_epsilon;
  uint64_t out_seed, hidden_seed, output_seed;
};
