// What the library and its caller must agree about, as a table that the library hands out: where each field of the
// shared structs lies, and which number each word has.
#pragma once
#include "block.h"
#include "passes.h"
#include "problem.h"

#include <cstddef>

#define INSTRUCTION_SETS(each) each(InstructionSet, PORTABLE) each(InstructionSet, AVX2) each(InstructionSet, AVX512)
enum InstructionSet : int32_t { INSTRUCTION_SETS(DECLARED) };

#define OUTCOMES(each) each(Outcome, DONE) each(Outcome, MAYBE_NOT_FINITE) each(Outcome, OUT_OF_MEMORY)
enum Outcome : int32_t { OUTCOMES(DECLARED) };

struct Entry {
  const char *group, *name;  // a struct and a field, "" for the whole of it; or a kind of words and a word
  int64_t value, bytes;      // offset and size of a field; or the number of a word and 0
};

#define WHOLE(type) {#type, "", 0, sizeof(type)},
#define FIELD(type, name) {#type, #name, offsetof(type, name), sizeof(type::name)},
#define WORD(group, word) {#group, #word, word, 0},

static const Entry LAYOUT[] = {
  WHOLE(Rows) FIELD(Rows, data) FIELD(Rows, outer) FIELD(Rows, inner) FIELD(Rows, row)

  WHOLE(Problem) FIELD(Problem, query) FIELD(Problem, key) FIELD(Problem, value) FIELD(Problem, output)
  FIELD(Problem, grad_output) FIELD(Problem, grad_query) FIELD(Problem, grad_key) FIELD(Problem, grad_value)
  FIELD(Problem, indices) FIELD(Problem, weights) FIELD(Problem, mask)
  FIELD(Problem, mask_outer) FIELD(Problem, mask_inner) FIELD(Problem, mask_query) FIELD(Problem, mask_key)
  FIELD(Problem, bias) FIELD(Problem, grad_scores)
  FIELD(Problem, batch) FIELD(Problem, inner) FIELD(Problem, queries) FIELD(Problem, keys)
  FIELD(Problem, width) FIELD(Problem, value_width) FIELD(Problem, kept) FIELD(Problem, first_row)
  FIELD(Problem, scale) FIELD(Problem, softcap) FIELD(Problem, dropout) FIELD(Problem, dropout_seed) FIELD(Problem, selection_seed)
  FIELD(Problem, causal) FIELD(Problem, mode) FIELD(Problem, size) FIELD(Problem, threads)

  WHOLE(Pass) FIELD(Pass, input) FIELD(Pass, other) FIELD(Pass, bias)
  FIELD(Pass, sum) FIELD(Pass, normed) FIELD(Pass, factors)
  FIELD(Pass, grad_sum) FIELD(Pass, grad_normed) FIELD(Pass, grad_input) FIELD(Pass, grad_other)
  FIELD(Pass, rows) FIELD(Pass, width) FIELD(Pass, epsilon) FIELD(Pass, dropout) FIELD(Pass, seed) FIELD(Pass, threads)

  WHOLE(Linear) FIELD(Linear, weight) FIELD(Linear, bias) FIELD(Linear, grad_weight) FIELD(Linear, grad_bias)

  WHOLE(Block) FIELD(Block, attention)
  FIELD(Block, query) FIELD(Block, key) FIELD(Block, value) FIELD(Block, out) FIELD(Block, expand) FIELD(Block, contract)
  FIELD(Block, input) FIELD(Block, output) FIELD(Block, activations) FIELD(Block, grad_output) FIELD(Block, grad_input)
  FIELD(Block, width) FIELD(Block, mixed_width) FIELD(Block, hidden_width)
  FIELD(Block, dropout) FIELD(Block, attention_epsilon) FIELD(Block, mlp_epsilon)
  FIELD(Block, out_seed) FIELD(Block, hidden_seed) FIELD(Block, output_seed)

  MODES(WORD) PASSES(WORD) INSTRUCTION_SETS(WORD) OUTCOMES(WORD)
  {nullptr, nullptr, 0, 0},
};
