// Sparse attention on the CPU: exact top-k and its relatives, forward and backward.
// Plain C++ with a C interface: no torch headers, so it survives upgrades of torch.

#include "problem.h"
#include "random.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace portable {
#define VECTOR_BYTES 16
#define TILE_ROWS 4
// Bit i: is value i of a vector at least the threshold? (NaN is not.)
template <typename T> static inline uint32_t match_mask(const T *values, T threshold) {
  uint32_t matches = 0;
  for (int lane = 0; lane < VECTOR_BYTES / (int)sizeof(T); lane++) matches |= uint32_t(values[lane] >= threshold) << lane;
  return matches;
}
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
#define TILE_ROWS 6
static inline uint32_t match_mask(const float *values, float threshold) {
  return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(values), _mm256_set1_ps(threshold), _CMP_GE_OQ));
}
static inline uint32_t match_mask(const double *values, double threshold) {
  return (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(values), _mm256_set1_pd(threshold), _CMP_GE_OQ));
}
#include "body.inc"
#undef VECTOR_BYTES
#undef TILE_ROWS
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
namespace avx512 {
#define VECTOR_BYTES 64
#define TILE_ROWS 12
static inline uint32_t match_mask(const float *values, float threshold) {
  return _mm512_cmp_ps_mask(_mm512_loadu_ps(values), _mm512_set1_ps(threshold), _CMP_GE_OQ);
}
static inline uint32_t match_mask(const double *values, double threshold) {
  return _mm512_cmp_pd_mask(_mm512_loadu_pd(values), _mm512_set1_pd(threshold), _CMP_GE_OQ);
}
#include "body.inc"
#undef VECTOR_BYTES
#undef TILE_ROWS
}  // namespace avx512
#pragma GCC pop_options
#endif

enum InstructionSet : int32_t { PORTABLE = 0, AVX2 = 1, AVX512 = 2 };

static void run(const Problem &p, int32_t set, bool is_double, bool is_backward) {
#define RUN(space)                                                                                  \
  (is_backward ? (is_double ? space::backward<double>(p) : space::backward<float>(p))              \
               : (is_double ? space::forward<double>(p) : space::forward<float>(p)))
#ifdef HAS_X86_VARIANTS
  if (set == AVX512) return RUN(avx512);
  if (set == AVX2) return RUN(avx2);
#endif
  (void)set;
  RUN(portable);
}

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

// To be compared with the size of the caller's struct.
int64_t semfocus_problem_size(void) { return (int64_t)sizeof(Problem); }

void semfocus_forward(const Problem *p, int32_t set, int32_t is_double) { run(*p, set, is_double, false); }
void semfocus_backward(const Problem *p, int32_t set, int32_t is_double) { run(*p, set, is_double, true); }
}
