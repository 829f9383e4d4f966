// Sparse attention on the CPU: exact top-k and its relatives, forward and backward, and the passes between the matrix
// products of a block. Plain C++ with a C interface: no torch headers, so it survives upgrades of torch.

#include "block.h"
#include "layout.h"
#include "passes.h"
#include "problem.h"
#include "random.h"
#include "workspace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_thread_num() { return 0; }
static inline int omp_get_num_threads() { return 1; }
#endif
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLE 1
#endif
#endif

namespace portable {
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#include "body.inc"
#undef VECTOR_BYTES
#undef TILE_ROWS
}  // namespace portable

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAS_X86_VARIANTS 1
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
#define VECTOR_BYTES 32
#define TILE_ROWS 4
#include "body.inc"
#undef VECTOR_BYTES
#undef TILE_ROWS
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
namespace avx512 {
#define VECTOR_BYTES 64
#define TILE_ROWS 8
#include "body.inc"
#undef VECTOR_BYTES
#undef TILE_ROWS
}  // namespace avx512
#pragma GCC pop_options
#endif

#ifdef HAS_X86_VARIANTS
#define CHOOSE(set, call) ((set) == AVX512 ? avx512::call : (set) == AVX2 ? avx2::call : portable::call)
#else
#define CHOOSE(set, call) ((void)(set), portable::call)
#endif

extern "C" {

// The best instruction set of this machine.
int32_t semfocus_instruction_set(void) {
#ifdef HAS_X86_VARIANTS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return AVX2;
#endif
  return PORTABLE;
}

// Raised with every change that may alter a bit of a result: records name it.
int32_t semfocus_kernel_version(void) { return 1; }

// To be compared with the caller's structs, and to read the numbers of words from; ends with an entry without a group.
const Entry *semfocus_layout(void) { return LAYOUT; }

int32_t semfocus_forward(const Problem *p, int32_t set, int32_t is_double) {
  try {
    bool doubtful = is_double ? CHOOSE(set, forward<double>(*p)) : CHOOSE(set, forward<float>(*p));
    return doubtful ? MAYBE_NOT_FINITE : DONE;
  } catch (const std::bad_alloc &) {
    return OUT_OF_MEMORY;
  }
}

int32_t semfocus_backward(const Problem *p, int32_t set, int32_t is_double) {
  try {
    is_double ? CHOOSE(set, backward<double>(*p)) : CHOOSE(set, backward<float>(*p));
    return DONE;
  } catch (const std::bad_alloc &) {
    return OUT_OF_MEMORY;
  }
}

void semfocus_pass(const Pass *p, int32_t set, int32_t is_double, int32_t kind) {
  is_double ? CHOOSE(set, run_pass<double>(*p, kind)) : CHOOSE(set, run_pass<float>(*p, kind));
}

// Bytes of the activations that the backward pass of a block needs.
int64_t semfocus_block_memory(const Block *b, int32_t set, int32_t is_double) {
  return is_double ? CHOOSE(set, activation_bytes<double>(*b)) : CHOOSE(set, activation_bytes<float>(*b));
}

int32_t semfocus_block(const Block *b, int32_t set, int32_t is_double, int32_t is_backward) {
  try {
    if (is_backward) is_double ? CHOOSE(set, block_backward<double>(*b)) : CHOOSE(set, block_backward<float>(*b));
    else is_double ? CHOOSE(set, block_forward<double>(*b)) : CHOOSE(set, block_forward<float>(*b));
    return DONE;
  } catch (const std::bad_alloc &) {
    return OUT_OF_MEMORY;
  }
}
}
