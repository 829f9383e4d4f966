// The compiled kernels, as built, against the vectors that vectors.py wrote. No Python, no torch: it runs wherever the
// library does.
//
//   self_test LIBRARY VECTORS [N]     exit code 0: all passed, 1: some failed, 2: it could not start
//
// With N only every N-th case.

#include "block.h"
#include "layout.h"
#include "passes.h"
#include "problem.h"

#include <new>
#include <dlfcn.h>
#include <strings.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

static const char *const SETS[] = {"portable", "avx2", "avx512"};
static constexpr double UNTOUCHED = -777;
static constexpr int THREADS[] = {1, 3};

[[noreturn]] static void stop(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

struct Library {
  int32_t (*instruction_set)();
  const Entry *(*layout)();
  int32_t (*forward)(const Problem *, int32_t, int32_t);
  int32_t (*backward)(const Problem *, int32_t, int32_t);
  void (*pass)(const Pass *, int32_t, int32_t, int32_t);
  int64_t (*block_memory)(const Block *, int32_t, int32_t);
  int32_t (*block)(const Block *, int32_t, int32_t, int32_t);
  explicit Library(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) stop(dlerror());
    find(handle, "semfocus_instruction_set", instruction_set);
    find(handle, "semfocus_layout", layout);
    find(handle, "semfocus_forward", forward);
    find(handle, "semfocus_backward", backward);
    find(handle, "semfocus_pass", pass);
    find(handle, "semfocus_block_memory", block_memory);
    find(handle, "semfocus_block", block);
    const Entry *theirs = layout();
    for (const Entry &ours : LAYOUT) {
      const bool same = !ours.group ? !theirs->group
                        : theirs->group && !strcmp(ours.group, theirs->group) && !strcmp(ours.name, theirs->name) &&
                              ours.value == theirs->value && ours.bytes == theirs->bytes;
      if (!same) stop("the library was compiled from other sources");
      theirs++;
    }
  }
  // The number of a word, as the library declares it.
  int32_t number(const char *group, const std::string &word) const {
    for (const Entry *each = layout(); each->group; each++)
      if (!strcmp(each->group, group) && !strcasecmp(each->name, word.c_str())) return (int32_t)each->value;
    stop(std::string("no ") + group + " " + word);
  }
  template <typename F> static void find(void *handle, const char *name, F &function) {
    function = (F)dlsym(handle, name);
    if (!function) stop(std::string("no function ") + name);
  }
};

struct Case {
  std::string kind, group, line;
  std::map<std::string, std::string> numbers;
  std::map<std::string, std::vector<double>> arrays;
  const std::string &text(const std::string &name) const {
    auto found = numbers.find(name);
    if (found == numbers.end()) stop("no number " + name + " in: " + line);
    return found->second;
  }
  int64_t whole(const std::string &name) const { return std::strtoll(text(name).c_str(), nullptr, 10); }
  uint64_t seed(const std::string &name) const { return std::strtoull(text(name).c_str(), nullptr, 10); }
  double real(const std::string &name) const { return std::strtod(text(name).c_str(), nullptr); }
  bool has(const std::string &name) const { return arrays.count(name) != 0; }
};

// qemu 7.2 reads the whole of a masked AVX2 load, which a processor does not: behind every array there is room for it.
static const std::size_t BEHIND = 64;
__attribute__((noinline)) void *operator new(std::size_t size) {
  if (void *memory = std::malloc(size + BEHIND)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void *memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

static std::vector<Case> read_cases(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Case> cases;
  std::string line, word;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    words >> word;
    if (word == "case") {
      cases.emplace_back();
      Case &each = cases.back();
      each.line = line;
      words >> each.kind >> each.group;
      while (words >> word) each.numbers[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    } else {
      size_t count = 0;
      std::string name;
      words >> name >> count;
      std::vector<double> &values = cases.back().arrays[name];
      values.resize(count);
      file.read((char *)values.data(), (std::streamsize)(count * sizeof(double)));
      if (!file) stop(std::string(path) + " ends too early");
    }
  }
  if (cases.empty()) stop(std::string("no cases in ") + path);
  return cases;
}

// What was found in one group of cases: the largest error relative to the largest expected number.
struct Finding {
  int checks = 0, failures = 0;
  double largest = 0;
};

struct Report {
  std::map<std::tuple<int, bool, std::string>, Finding> findings;
  int set = 0;
  bool is_double = false;
  const Case *now = nullptr;

  double allowed() const { return is_double ? 2e-14 : 2e-6; }
  void add(const std::string &what, double error) {
    Finding &finding = findings[{set, is_double, now->kind + " " + now->group}];
    finding.checks++;
    finding.largest = error > finding.largest ? error : finding.largest;
    if (error <= allowed()) return;
    if (finding.failures++ == 0)
      std::printf("FAILED %s %s: %s is off by %.2g in: %s\n", SETS[set], is_double ? "double" : "float", what.c_str(), error,
                  now->line.c_str());
  }
  void require(const std::string &what, bool holds) { add(what, holds ? 0 : INFINITY); }
  double largest_expected(const std::string &name) const {
    double largest = 0.1;
    for (double each : now->arrays.at(name))
      if (std::isfinite(each)) largest = std::fmax(largest, std::fabs(each));
    return largest;
  }
  // A row whose expected numbers are all 0 must be exactly that. Where sums cancel, `like` names an array of their terms' size.
  template <typename T>
  void compare(const std::string &name, const std::vector<T> &actual, int64_t width = 1, const std::string &like = "") {
    const std::vector<double> &expected = now->arrays.at(name);
    if (expected.size() != actual.size()) stop("wrong size of " + name + " in: " + now->line);
    double error = 0;
    for (size_t at = 0; at < expected.size(); at++) {
      double difference = std::fabs((double)actual[at] - expected[at]);
      if (std::isnan(expected[at]) && std::isnan(actual[at])) difference = 0;
      error = difference <= error ? error : std::isnan(difference) ? INFINITY : difference;
    }
    for (size_t row = 0; width > 1 && row < expected.size(); row += (size_t)width) {
      bool is_zero = true, stays_zero = true;
      for (size_t at = row; at < row + (size_t)width; at++) is_zero &= expected[at] == 0, stays_zero &= actual[at] == 0;
      if (is_zero && !stays_zero) error = INFINITY;
    }
    add(name, error / std::fmax(largest_expected(name), like.empty() ? 0 : largest_expected(like)));
  }
};

template <typename T> static std::vector<T> converted(const Case &c, const std::string &name) {
  auto found = c.arrays.find(name);
  if (found == c.arrays.end()) return {};
  return std::vector<T>(found->second.begin(), found->second.end());
}

// Numbers (outer, inner, row, feature) in memory: one after the other, or with gaps and the inner ones side by side.
template <typename T> struct Spread {
  int64_t outer, inner, rows, width, gap;
  std::vector<T> memory;
  Spread(int64_t outer, int64_t inner, int64_t rows, int64_t width, bool with_gaps)
      : outer(outer), inner(inner), rows(rows), width(width), gap(with_gaps ? 3 : 0),
        memory((size_t)(outer * inner * rows * (width + gap) + 16), T(UNTOUCHED)) {}
  Rows place() {
    int64_t each = width + gap;
    if (gap) return {memory.data(), rows * inner * each, each, inner * each};
    return {memory.data(), inner * rows * each, rows * each, each};
  }
  template <typename Use> void visit(Use use) {
    const Rows at = place();
    int64_t number = 0;
    for (int64_t a = 0; a < outer; a++)
      for (int64_t b = 0; b < inner; b++)
        for (int64_t row = 0; row < rows; row++)
          for (int64_t column = 0; column < width; column++)
            use((size_t)number++, memory[(size_t)(a * at.outer + b * at.inner + row * at.row + column)]);
  }
  void set(const std::vector<double> &values) {
    visit([&](size_t number, T &entry) { entry = T(values[number]); });
  }
  std::vector<T> values() {
    std::vector<T> result((size_t)(outer * inner * rows * width));
    visit([&](size_t number, T &entry) { result[number] = entry; });
    return result;
  }
  // Whether nothing was written beside the numbers.
  bool is_clean() {
    int64_t untouched = 0;
    for (T each : memory) untouched += each == T(UNTOUCHED);
    visit([&](size_t, T &entry) { untouched -= entry == T(UNTOUCHED); });
    return untouched == (int64_t)memory.size() - outer * inner * rows * width;
  }
};

struct Mask {
  std::vector<uint8_t> bytes;
  // Of every second byte, if spread out.
  Mask(const Case &c, Problem &p, bool is_spread) {
    if (!c.has("mask")) return;
    const int64_t step = is_spread ? 2 : 1;
    const std::vector<double> &values = c.arrays.at("mask");
    bytes.assign(values.size() * (size_t)step, 1);
    for (size_t at = 0; at < values.size(); at++) bytes[at * (size_t)step] = values[at] != 0;
    p.mask = bytes.data();
    p.mask_key = step;
    p.mask_query = p.keys * p.mask_key;
    p.mask_inner = p.queries * p.mask_query;
    p.mask_outer = p.inner * p.mask_inner;
  }
};

static Problem problem_of(const Library &library, const Case &c, int threads) {
  Problem p{};
  p.inner = c.whole("inner");
  p.batch = c.whole("outer") * p.inner;
  p.queries = c.whole("queries");
  p.keys = c.whole("keys");
  p.width = c.whole("width");
  p.value_width = c.whole("value_width");
  p.kept = c.whole("kept");
  p.scale = c.real("scale");
  p.dropout = c.real("dropout");
  p.dropout_seed = c.seed("dropout_seed");
  p.selection_seed = c.seed("selection_seed");
  p.causal = (int32_t)c.whole("causal");
  p.mode = library.number("Mode", c.text("mode"));
  p.size = (int32_t)c.whole("size");
  p.threads = threads;
  return p;
}

template <typename T> static void check_attention(const Library &library, Report &report, int threads, bool with_gaps) {
  const Case &c = *report.now;
  Problem p = problem_of(library, c, threads);
  const Mask mask(c, p, with_gaps);
  const int64_t outer = c.whole("outer"), rows = p.batch * p.queries, weights_each = p.mode == ALL ? 2 : p.kept;
  auto spread = [&](int64_t count, int64_t width) { return Spread<T>(outer, p.inner, count, width, with_gaps); };
  Spread<T> query = spread(p.queries, p.width), key = spread(p.keys, p.width), value = spread(p.keys, p.value_width);
  Spread<T> output = spread(p.queries, p.value_width);
  query.set(c.arrays.at("query"));
  key.set(c.arrays.at("key"));
  value.set(c.arrays.at("value"));
  std::vector<int32_t> indices((size_t)(rows * p.kept + 8), (int32_t)UNTOUCHED);
  std::vector<T> weights((size_t)(rows * weights_each + 8), T(UNTOUCHED));
  p.query = query.place();
  p.key = key.place();
  p.value = value.place();
  p.output = output.place();
  p.indices = indices.data();
  p.weights = weights.data();
  report.require("the outcome of forward", library.forward(&p, report.set, report.is_double) == 0);
  report.compare("output", output.values(), p.value_width);
  report.require("what lies beside the output",
                 output.is_clean() && indices[(size_t)(rows * p.kept)] == (int32_t)UNTOUCHED &&
                     weights[(size_t)(rows * weights_each)] == T(UNTOUCHED));
  if (c.has("indices")) {
    const std::vector<double> &expected = c.arrays.at("indices");
    bool equal = expected.size() == (size_t)(rows * p.kept);
    for (size_t at = 0; equal && at < expected.size(); at++) equal = indices[at] == (int32_t)expected[at];
    report.require("the list of kept keys", equal);
  }
  if (!c.has("grad_output")) return;
  Spread<T> grad_output = spread(p.queries, p.value_width), grad_query = spread(p.queries, p.width);
  Spread<T> grad_key = spread(p.keys, p.width), grad_value = spread(p.keys, p.value_width);
  grad_output.set(c.arrays.at("grad_output"));
  p.grad_output = grad_output.place();
  p.grad_query = grad_query.place();
  p.grad_key = grad_key.place();
  p.grad_value = grad_value.place();
  report.require("the outcome of backward", library.backward(&p, report.set, report.is_double) == 0);
  report.compare("grad_query", grad_query.values());
  report.compare("grad_key", grad_key.values());
  report.compare("grad_value", grad_value.values());
  report.require("what lies beside the gradients", grad_query.is_clean() && grad_key.is_clean() && grad_value.is_clean());
}

template <typename T> static void check_pass(const Library &library, Report &report, int threads) {
  const Case &c = *report.now;
  const int32_t direction = library.number("PassKind", c.text("direction"));
  static const std::set<std::string> results[] = {
      {"sum", "normed", "factors"}, {"grad_input", "grad_other"}, {"sum"}, {"grad_input"}};
  std::map<std::string, std::vector<T>> arrays;
  for (const auto &named : c.arrays) {
    arrays[named.first] = converted<T>(c, named.first);
    std::vector<T> &array = arrays[named.first];
    if (results[direction].count(named.first)) array.assign(array.size(), T(UNTOUCHED));
    array.resize(array.size() + 8, T(UNTOUCHED));
  }
  auto address = [&](const char *name) { return arrays.count(name) ? arrays[name].data() : nullptr; };
  Pass p{};
  p.input = address("input");
  p.other = address("other");
  p.bias = address("bias");
  p.sum = address("sum");
  p.normed = address("normed");
  p.factors = address("factors");
  p.grad_sum = address("grad_sum");
  p.grad_normed = address("grad_normed");
  p.grad_input = address("grad_input");
  p.grad_other = address("grad_other");
  p.rows = c.whole("rows");
  p.width = c.whole("width");
  p.epsilon = c.real("epsilon");
  p.dropout = c.real("dropout");
  p.seed = c.seed("seed");
  p.threads = threads;
  library.pass(&p, report.set, report.is_double, direction);
  for (auto &named : arrays) {
    if (!results[direction].count(named.first)) continue;
    const bool is_clean = named.second[named.second.size() - 8] == T(UNTOUCHED);
    named.second.resize(named.second.size() - 8);
    report.compare(named.first, named.second);
    report.require("what lies behind " + named.first, is_clean);
  }
}

template <typename T> struct Map {
  std::vector<T> weight, bias, grad_weight, grad_bias;
  Map(const Case &c, const std::string &name)
      : weight(converted<T>(c, name + ".weight")), bias(converted<T>(c, name + ".bias")),
        grad_weight(weight.size(), T(UNTOUCHED)), grad_bias(bias.size(), T(UNTOUCHED)) {}
  Linear place() { return {weight.data(), bias.data(), grad_weight.data(), grad_bias.data()}; }
};

template <typename T> static void check_block(const Library &library, Report &report, int threads) {
  const Case &c = *report.now;
  Block b{};
  b.attention = problem_of(library, c, threads);
  const Mask mask(c, b.attention, false);
  static const char *const names[] = {"query", "key", "value", "out", "expand", "contract"};
  Linear *const places[] = {&b.query, &b.key, &b.value, &b.out, &b.expand, &b.contract};
  std::vector<Map<T>> maps;
  for (const char *name : names) maps.emplace_back(c, name);
  for (size_t at = 0; at < maps.size(); at++) *places[at] = maps[at].place();
  const std::vector<T> input = converted<T>(c, "input"), grad_output = converted<T>(c, "grad_output");
  std::vector<T> output(input.size(), T(UNTOUCHED)), again(output), grad_input(output);
  b.input = input.data();
  b.output = again.data();
  b.width = c.whole("block_width");
  b.mixed_width = b.attention.inner * b.attention.width;
  b.hidden_width = c.whole("hidden_width");
  b.dropout = c.real("block_dropout");
  b.attention_epsilon = c.real("attention_epsilon");
  b.mlp_epsilon = c.real("mlp_epsilon");
  b.out_seed = c.seed("out_seed");
  b.hidden_seed = c.seed("hidden_seed");
  b.output_seed = c.seed("output_seed");
  report.require("the outcome of forward", library.block(&b, report.set, report.is_double, 0) == 0);
  std::vector<char> activations((size_t)library.block_memory(&b, report.set, report.is_double));
  b.activations = activations.data();
  b.output = output.data();
  report.require("the outcome of forward", library.block(&b, report.set, report.is_double, 0) == 0);
  report.compare("output", output);
  report.require("the output when nothing is stored for a backward pass", output == again);
  b.grad_output = grad_output.data();
  b.grad_input = grad_input.data();
  report.require("the outcome of backward", library.block(&b, report.set, report.is_double, 1) == 0);
  report.compare("grad_input", grad_input);
  for (size_t at = 0; at < maps.size(); at++) {
    const std::string weight = std::string("grad_") + names[at] + ".weight", bias = std::string("grad_") + names[at] + ".bias";
    report.compare(weight, maps[at].grad_weight);
    report.compare(bias, maps[at].grad_bias, 1, weight);  // that of the keys is 0
  }
}

template <typename T> static void check(const Library &library, Report &report) {
  for (int threads : THREADS) {
    if (report.now->kind == "attention")
      for (bool with_gaps : {false, true}) check_attention<T>(library, report, threads, with_gaps);
    else if (report.now->kind == "pass") check_pass<T>(library, report, threads);
    else if (report.now->kind == "block") check_block<T>(library, report, threads);
    else stop("unknown kind in: " + report.now->line);
  }
}

int main(int count, char **words) {
  const int every = count == 4 ? std::atoi(words[3]) : 1;
  if (count < 3 || every < 1) stop("usage: self_test LIBRARY VECTORS [N]");
  const Library library(words[1]);
  const std::vector<Case> cases = read_cases(words[2]);
  const int best = library.instruction_set();
  if (best < 0 || best > 2) stop("unknown instruction set");
  std::printf("instruction set: %s\n", SETS[best]);
  std::fflush(stdout);
  Report report;
  for (report.set = 0; report.set <= best; report.set++)
    for (size_t at = 0; at < cases.size(); at += (size_t)every) {
      report.now = &cases[at];
      report.is_double = false;
      check<float>(library, report);
      report.is_double = true;
      check<double>(library, report);
    }
  Finding all[2];
  for (const auto &named : report.findings) {
    const Finding &finding = named.second;
    const bool is_double = std::get<1>(named.first);
    std::printf("%-8s  %-6s  %-28s  %6d checks  largest error %8.2g  %s\n", SETS[std::get<0>(named.first)],
                is_double ? "double" : "float", std::get<2>(named.first).c_str(), finding.checks, finding.largest,
                finding.failures ? "FAILED" : "passed");
    all[is_double].checks += finding.checks;
    all[is_double].failures += finding.failures;
    all[is_double].largest = std::fmax(all[is_double].largest, finding.largest);
  }
  const int failures = all[0].failures + all[1].failures;
  std::printf("checks: %d, failed: %d, largest error: float %.2g, double %.2g\n", all[0].checks + all[1].checks, failures,
              all[0].largest, all[1].largest);
  return failures ? 1 : 0;
}
